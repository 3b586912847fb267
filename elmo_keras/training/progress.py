"""The progress of a training run."""

import dataclasses

from elmo_keras.training.held_out import HeldOutPerplexity
from elmo_keras.training.perplexity import Perplexity


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
        held_out: rows of (tokens, forward perplexity, backward perplexity), each
            sentence from the zero state.
        held_out_carried: such rows with the state carried over.
        chosen_by: the field of `HeldOutPerplexity` that `best` is about.
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
    held_out_carried: list[tuple[int, float, float]] = dataclasses.field(
        default_factory=list
    )
    chosen_by: str = "zero"  # also in the checkpoints of versions without a choice
    best: float | None = None
    not_better: int = 0

    def add_held_out(self, result: HeldOutPerplexity) -> float:
        """Adds an evaluation; returns the mean perplexity that chooses the model."""
        self.held_out.append((self.tokens, *result.zero))
        self.held_out_carried.append((self.tokens, *result.carried))
        return getattr(result, self.chosen_by).mean

    def evaluations(self) -> list[HeldOutPerplexity]:
        """All evaluations so far; early ones of an old checkpoint lack `carried`."""
        carried = {row[0]: Perplexity(*row[1:]) for row in self.held_out_carried}
        return [
            HeldOutPerplexity(Perplexity(*row[1:]), carried.get(row[0]))
            for row in self.held_out
        ]
