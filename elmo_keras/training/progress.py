"""The progress of a training run."""

import dataclasses


@dataclasses.dataclass
class Progress:
    """The progress of a training run, part of its checkpoints.

    Attributes:
        epoch: number of the current epoch, from 0.
        epoch_step: steps done in the current epoch.
        step: steps done in total.
        tokens: tokens predicted in each direction.
        seconds: time spent in steps.
        losses: rows of (tokens, mean loss since the previous row).
        held_out: rows of (tokens, forward perplexity, backward perplexity).
        best: lowest mean held-out perplexity, or None.
        not_better: evaluations since `best`.
    """

    epoch: int = 0
    epoch_step: int = 0
    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    losses: list[tuple[int, float]] = dataclasses.field(default_factory=list)
    held_out: list[tuple[int, float, float]] = dataclasses.field(default_factory=list)
    best: float | None = None
    not_better: int = 0
