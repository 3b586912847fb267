"""The progress of a training run."""

import dataclasses

import numpy as np

from elmo_keras.perplexity import HeldOutPerplexity, Perplexity

ROW_STEPS = 10  # steps of a row of `losses`
RECENT_ROWS = 10  # rows of the recent loss
Rows = list[tuple[float, ...]]


@dataclasses.dataclass
class Progress:
    """Part of the checkpoints of a training run."""

    epoch: int = 0  # number of the current epoch
    epoch_step: int = 0  # steps done in the current epoch
    step: int = 0  # steps done in total
    tokens: int = 0  # predicted in each direction
    seconds: float = 0.0  # spent in steps
    # Rows of (tokens, mean loss of a token since the previous row), one for every
    # `ROW_STEPS` steps; then the steps since the last row and their summed loss.
    losses: list[tuple[int, float]] = dataclasses.field(default_factory=list)
    open_steps: int = 0
    open_loss: float = 0.0
    # Rows of (tokens, forward perplexity, backward perplexity): each sentence from the
    # zero state, and with the state carried over.
    held_out: Rows = dataclasses.field(default_factory=list)
    held_out_carried: Rows = dataclasses.field(default_factory=list)
    chosen_by: str = "zero"  # the field of `HeldOutPerplexity` that chooses the model
    best: float | None = None  # lowest mean held-out perplexity
    not_better: int = 0  # evaluations since then

    def add_step(self, loss: float, n_tokens: int) -> bool:
        """Adds a step's mean loss; returns whether that completes a row of `losses`."""
        self.tokens += n_tokens
        self.open_steps += 1
        self.open_loss += loss * n_tokens
        if self.open_steps < ROW_STEPS:
            return False
        self.losses.append(self._open_row())
        self.open_steps, self.open_loss = 0, 0.0
        return True

    def loss_rows(self) -> np.ndarray:
        """Rows of (first token, token after the last, mean loss), all tokens so far."""
        return _spans([*self.losses, *([self._open_row()] if self.open_steps else [])])

    def recent_loss(self) -> float | None:
        """Mean loss of a token over the last hundred steps; None without any step."""
        rows = self.losses[-RECENT_ROWS - 1 :]
        if not rows:
            return self._open_row()[1] if self.open_steps else None
        spans = _spans(rows)[-RECENT_ROWS:]
        return float(np.average(spans[:, 2], weights=spans[:, 1] - spans[:, 0]))

    def add_validation(self, result: HeldOutPerplexity) -> float:
        """Adds an evaluation; returns the mean perplexity that chooses the model."""
        self.held_out.append((self.tokens, *result.zero))
        self.held_out_carried.append((self.tokens, *result.carried))
        return self.chosen_mean(result)

    def chosen_mean(self, result: HeldOutPerplexity) -> float:
        return (result.zero if self.chosen_by == "zero" else result.carried).mean

    def evaluations(self) -> list[HeldOutPerplexity]:
        return [
            HeldOutPerplexity(Perplexity(*zero[1:]), Perplexity(*carried[1:]))
            for zero, carried in zip(self.held_out, self.held_out_carried, strict=True)
        ]

    def best_evaluation(self) -> HeldOutPerplexity | None:
        """The lowest perplexity after a step; None if there is no such evaluation."""
        return min(self.evaluations()[1:], key=self.chosen_mean, default=None)

    def _open_row(self):
        first = self.losses[-1][0] if self.losses else 0
        return self.tokens, self.open_loss / (self.tokens - first)


def _spans(rows):
    ends, means = np.array(rows, float).reshape(-1, 2).T
    return np.stack([np.concatenate([[0], ends])[:-1], ends, means], axis=1)
