"""The progress of a training run, which its checkpoints hold."""

import dataclasses
import math

import numpy as np

from elmo_keras.perplexity import HeldOutPerplexity, Perplexity

ROW_STEPS = 10  # steps of a row of `losses`
RECENT_ROWS = 10  # rows of the recent loss
DIVERGED_RISE = 100  # times the perplexity before training


def diverged(loss: float) -> FloatingPointError:
    return FloatingPointError(
        f"Training diverged: the loss is {loss:.1f} nats a token. Start again with a lower "
        "learning rate, in another folder."
    )


@dataclasses.dataclass
class Progress:
    epoch: int = 0  # number of complete epochs
    epoch_step: int = 0  # steps done in the current epoch
    step: int = 0  # steps done in total
    tokens: int = 0  # predictions in each direction
    seconds: float = 0.0  # the time of all steps
    # Rows of (steps, tokens, summed loss), the last one with fewer than `ROW_STEPS` steps.
    losses: list[list[float]] = dataclasses.field(default_factory=list)
    # Rows of (tokens, perplexities of an evaluation): forward and backward, each sentence
    # from the zero state; then both with the state carried over.
    held_out: list[list[float]] = dataclasses.field(default_factory=list)
    chosen_by: str = "zero"  # the field of `HeldOutPerplexity` that chooses the model

    def add_step(self, loss: float, n_tokens: int) -> None:
        """Adds a step's mean loss."""
        if not self.losses or self.losses[-1][0] == ROW_STEPS:
            self.losses.append([0, 0, 0.0])
        row = self.losses[-1]
        row[:] = row[0] + 1, row[1] + n_tokens, row[2] + loss * n_tokens
        self.tokens += n_tokens

    def mean_loss(self, first_row: int = -RECENT_ROWS) -> float:
        """Mean loss of a token, by default over about the last hundred steps."""
        _, tokens, loss = np.sum(self.losses[first_row:] or [[0, 0, np.nan]], axis=0)
        return float(loss / max(tokens, 1))

    def add_evaluation(self, result: HeldOutPerplexity) -> None:
        self.held_out.append([self.tokens, *result.zero, *result.carried])

    def evaluations(self) -> list[HeldOutPerplexity]:
        return [
            HeldOutPerplexity(Perplexity(*row[1:3]), Perplexity(*row[3:]))
            for row in self.held_out
        ]

    def means(self) -> list[float]:
        """The perplexities that choose the model, the first one before training."""
        return [getattr(result, self.chosen_by).mean for result in self.evaluations()]

    @property
    def best(self) -> int:
        """The index of the evaluation with the lowest perplexity."""
        return int(np.argmin(self.means() or [0]))

    def chosen(self, keep_last: bool) -> int:
        """The index of the evaluation of the model that is kept: the last or the best."""
        return len(self.held_out) - 1 if keep_last else self.best

    @property
    def not_better(self) -> int:
        """The number of evaluations since the best one."""
        return max(len(self.held_out) - 1, 0) - self.best

    @property
    def highest_loss(self) -> float:
        """The loss from which on training has diverged, in nats."""
        before, *_ = self.means() or [math.inf]
        return math.log(DIVERGED_RISE * before)
