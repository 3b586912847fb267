"""The options of a training run: published options, settings, texts and limits."""

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmo_keras.text.vocabulary import SPECIAL_WORDS

if TYPE_CHECKING:
    from elmo_keras.training.progress import Progress

ZERO_STATE_SHARE = 0.1


@dataclasses.dataclass(frozen=True)
class TrainingOptions:
    """Keys of options.json about training; the defaults are the released models'."""

    n_epochs: int = 10
    batch_size: int = 128  # rows of text that a replica reads in a step
    unroll_steps: int = 20  # tokens of each row in a step; gradients stop at its start
    n_negative_samples_batch: int = 8192
    learning_rate: float = 0.2
    dropout: float = 0.1  # on the inputs of the LSTM layers and on the last output
    all_clip_norm_val: float = 10.0  # the global norm at which the gradient is clipped
    sample_softmax: bool = True

    def n_negatives(self, vocabulary_size: int) -> int | None:
        """Negatives of the sampled softmax, or None if the softmax is full."""
        # Drawing nearly all words takes longer than scoring all of them.
        few = self.n_negative_samples_batch <= 0.95 * vocabulary_size
        sampled = self.sample_softmax and few
        return self.n_negative_samples_batch if sampled else None

    def to_options(self, n_train_tokens: int, n_tokens_vocab: int) -> dict[str, Any]:
        counts = {"n_train_tokens": n_train_tokens, "n_tokens_vocab": n_tokens_vocab}
        return {"bidirectional": True} | dataclasses.asdict(self) | counts


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """The settings of a run: what it starts from, and how updates are computed."""

    options: TrainingOptions = TrainingOptions()
    init: str | None = None  # a model for `find_model`; None for random weights
    weights: str | None = None  # published HDF5 weights, if `init` is an `options.json`
    preset: str | None = None  # sizes for random weights; None for `tiny`
    changes: dict[str, Any] = dataclasses.field(default_factory=dict)  # of the preset
    new_softmax: bool = False  # even if the model has one
    warm_up: int | None = None  # steps that train only the softmax
    seed: int = 0  # of initial weights, order of the sentences, negatives and dropout
    # The probability that a sentence is read from the zero state, as `Elmo` reads it;
    # 0 for the published procedure.
    zero_state_share: float = ZERO_STATE_SHARE
    optimizer: str = "adagrad"  # or "adam", "lion", "rmsprop", "sgd"
    schedule: str = "constant"  # or "cosine", "linear"
    dtype: str = "float32"  # or "mixed_bfloat16"
    replicas: int | None = None  # on this machine; None for all GPUs
    parts: int = 1  # of a replica's rows, computed in turn

    def __post_init__(self):
        if self.options.batch_size % self.parts:
            raise ValueError(
                "`batch_size` should be a multiple of `parts`. Received: "
                f"{self.options.batch_size} and {self.parts}"
            )


@dataclasses.dataclass(frozen=True)
class TextData:
    """The files of text, plain or gzipped, and the source of the vocabulary."""

    train: list[str] | None = None  # patterns; None for Python's language reference
    valid: list[str] | None = None  # patterns of the held-out files
    raw_text: bool = False  # paragraphs instead of one tokenized sentence a line
    vocabulary: Path | None = None  # a `vocab.txt`; None to count words
    vocabulary_text: list[str] | None = None  # further files whose words are counted
    vocabulary_size: int | None = None
    min_count: int | None = None  # None for `inputs.MIN_COUNT`

    def __post_init__(self):
        size, special = self.vocabulary_size, len(SPECIAL_WORDS)
        if size is not None and size <= special:
            raise ValueError(
                f"`vocabulary_size` should be at least {special + 1}, as "
                f"{', '.join(SPECIAL_WORDS)} are part of it. Received: {size}"
            )


@dataclasses.dataclass(frozen=True)
class Limits:
    """The limits of training, and how often it evaluates and writes checkpoints."""

    n_epochs: int | None
    n_steps: int | None = None
    patience: int | None = None  # evaluations in a row without a lower perplexity
    checkpoint_every: int = 500  # steps
    evaluate_every: int | None = None  # steps; besides, each epoch ends with one

    def reached(self, progress: "Progress") -> dict[str, int]:
        limits = {
            "epochs": (self.n_epochs, progress.epoch),
            "steps": (self.n_steps, progress.step),
            "patience": (self.patience, progress.not_better),
        }
        return {
            name: limit
            for name, (limit, value) in limits.items()
            if limit is not None and value >= limit
        }

    def total_steps(
        self, steps_an_epoch: int, progress: "Progress | None" = None
    ) -> int:
        """The number of steps, unless patience ends training earlier."""
        n_steps = self.n_steps or sys.maxsize
        if self.n_epochs is None:
            return n_steps
        steps = self.n_epochs * steps_an_epoch
        if progress:
            steps -= progress.epoch * steps_an_epoch + progress.epoch_step
            steps += progress.step
        return min(n_steps, steps)
