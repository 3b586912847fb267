"""The options of a training run: published options, further settings and limits."""

import dataclasses
import sys
from typing import Any

from elmo_keras.training.progress import Progress

ZERO_STATE_SHARE = 0.1


@dataclasses.dataclass(frozen=True)
class TrainingOptions:
    """The published options of training; the fields are keys of options.json.

    Args:
        n_epochs: passes over the corpus.
        batch_size: rows of text that a replica reads in a step.
        unroll_steps: tokens of each row in a step; gradients stop at its start.
        n_negative_samples_batch: negatives of the sampled softmax. The full
            softmax is used if the vocabulary has hardly more words.
        learning_rate: learning rate of the optimizer.
        dropout: rate on the inputs of the LSTM layers and on the last output.
        all_clip_norm_val: the global norm at which the gradient is clipped.
        sample_softmax: whether the softmax is sampled.

    The defaults are those of the released models.
    """

    n_epochs: int = 10
    batch_size: int = 128
    unroll_steps: int = 20
    n_negative_samples_batch: int = 8192
    learning_rate: float = 0.2
    dropout: float = 0.1
    all_clip_norm_val: float = 10.0
    sample_softmax: bool = True

    def n_negatives(self, vocabulary_size: int) -> int | None:
        """Negatives of the sampled softmax, or None if the softmax is full."""
        # Drawing nearly all words takes longer than scoring all of them.
        few = self.n_negative_samples_batch <= 0.95 * vocabulary_size
        sampled = self.sample_softmax and few
        return self.n_negative_samples_batch if sampled else None

    def to_options(self, n_train_tokens: int, n_tokens_vocab: int) -> dict[str, Any]:
        """The keys that training adds to an options.json."""
        counts = {"n_train_tokens": n_train_tokens, "n_tokens_vocab": n_tokens_vocab}
        return {"bidirectional": True} | dataclasses.asdict(self) | counts


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """The settings that determine the updates of a run.

    Args:
        options: the published options.
        seed: fixes initial weights, order of the sentences, negatives and dropout.
        zero_state_share: the probability that a sentence is read from the zero state,
            as `Elmo` reads it; 0 for the published procedure, which always carries
            the state over from the sentence before. If None, `ZERO_STATE_SHARE` in
            a new run.
        optimizer: a key of `optimizers.OPTIMIZERS`.
        schedule: one of `optimizers.SCHEDULES`.
        dtype: policy of the model, `"float32"` or `"mixed_bfloat16"`.
        n_parts: parts of a replica's rows, computed one after another.

    Raises:
        ValueError: the batch size is not a multiple of `n_parts`.
    """

    options: TrainingOptions = TrainingOptions()
    seed: int = 0
    zero_state_share: float | None = None
    optimizer: str = "adagrad"
    schedule: str = "constant"
    dtype: str = "float32"
    n_parts: int = 1

    def __post_init__(self):
        if self.options.batch_size % self.n_parts:
            raise ValueError(
                f"--batch-size {self.options.batch_size} should be a multiple of "
                f"--parts {self.n_parts}."
            )


@dataclasses.dataclass(frozen=True)
class Limits:
    """The limits of training, and how often it evaluates and writes checkpoints.

    Args:
        n_epochs: maximum number of epochs, or None.
        n_steps: maximum number of steps, or None.
        patience: maximum number of evaluations in a row without a lower perplexity,
            or None.
        checkpoint_every: steps between two checkpoints.
        evaluate_every: steps between two evaluations, besides the one after each
            epoch, or None.
    """

    n_epochs: int | None
    n_steps: int | None = None
    patience: int | None = None
    checkpoint_every: int = 500
    evaluate_every: int | None = None

    def reached(self, progress: Progress) -> bool:
        """Whether training is finished."""
        return bool(self.reached_options(progress))

    def reached_options(self, progress: Progress) -> list[str]:
        """The options of the command line that end training, with their values."""
        limits = {
            "epochs": (self.n_epochs, progress.epoch),
            "steps": (self.n_steps, progress.step),
            "patience": (self.patience, progress.not_better),
        }
        return [
            f"--{name} {limit}"
            for name, (limit, value) in limits.items()
            if limit is not None and value >= limit
        ]

    def total_steps(self, steps_an_epoch: int) -> int:
        """The number of steps, unless patience ends training earlier."""
        n_steps = self.n_steps or sys.maxsize
        if self.n_epochs is None:
            return n_steps
        return min(n_steps, self.n_epochs * steps_an_epoch)

    def checkpoint_due(self, progress: Progress) -> bool:
        """Whether a checkpoint follows the last step."""
        return progress.step % self.checkpoint_every == 0

    def evaluation_due(self, progress: Progress) -> bool:
        """Whether an evaluation follows the last step."""
        every = self.evaluate_every
        return every is not None and progress.step % every == 0
