"""The options of a training run: published options, settings, texts and limits."""

import dataclasses
import sys
from pathlib import Path
from typing import Any

from elmo_keras.text.vocabulary import SPECIAL_WORDS
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
    """The settings of a run: what it starts from, and how updates are computed.

    Args:
        options: the published options.
        init: the model to start from, which `find_model` takes; None for random
            weights.
        weights: published HDF5 weights, if `init` is an `options.json`.
        preset: name of the sizes for random weights; None for `tiny`.
        changes: fields of `ElmoConfig` that replace those of the preset.
        new_softmax: whether the softmax is new even if the model has one.
        warm_up: steps that train only the softmax; None for the default.
        seed: fixes initial weights, order of the sentences, negatives and dropout.
        zero_state_share: the probability that a sentence is read from the zero state,
            as `Elmo` reads it; 0 for the published procedure, which always carries
            the state over from the sentence before. If None, `ZERO_STATE_SHARE` in
            a new run.
        optimizer: a key of `optimizers.OPTIMIZERS`.
        schedule: one of `optimizers.SCHEDULES`.
        dtype: policy of the model, `"float32"` or `"mixed_bfloat16"`.
        replicas: replicas on this machine; None for all GPUs.
        n_parts: parts of a replica's rows, whose gradients are accumulated.

    Raises:
        ValueError: the batch size is not a multiple of `n_parts`.
    """

    options: TrainingOptions = TrainingOptions()
    init: str | None = None
    weights: str | None = None
    preset: str | None = None
    changes: dict[str, Any] = dataclasses.field(default_factory=dict)
    new_softmax: bool = False
    warm_up: int | None = None
    seed: int = 0
    zero_state_share: float | None = None
    optimizer: str = "adagrad"
    schedule: str = "constant"
    dtype: str = "float32"
    replicas: int | None = None
    n_parts: int = 1

    def __post_init__(self):
        if self.options.batch_size % self.n_parts:
            raise ValueError(
                f"--batch-size {self.options.batch_size} should be a multiple of "
                f"--parts {self.n_parts}."
            )


@dataclasses.dataclass(frozen=True)
class TextData:
    """The files of text, plain or gzipped, and the source of the vocabulary.

    Args:
        train: patterns of files to train on, or None for Python's language reference.
        valid: patterns of files that are held out, or None as in `train`.
        raw_text: whether they hold raw text instead of one tokenized sentence a line.
        vocabulary: a `vocab.txt`, or None to count words.
        vocabulary_text: patterns of further files whose words are counted, or None.
        vocabulary_size: maximum number of words, or None.
        min_count: rarer words are left out; None for `inputs.MIN_COUNT`.

    Raises:
        ValueError: `vocabulary_size` leaves no room for a word besides the special ones.
    """

    train: list[str] | None = None
    valid: list[str] | None = None
    raw_text: bool = False
    vocabulary: Path | None = None
    vocabulary_text: list[str] | None = None
    vocabulary_size: int | None = None
    min_count: int | None = None

    def __post_init__(self):
        size, special = self.vocabulary_size, len(SPECIAL_WORDS)
        if size is not None and size <= special:
            raise ValueError(
                f"--vocabulary-size should be at least {special + 1}, as "
                f"{', '.join(SPECIAL_WORDS)} are part of it. Received: {size}"
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

    def reached(self, progress: Progress) -> list[str]:
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

    def total_steps(self, steps_an_epoch: int, progress: Progress | None = None) -> int:
        """The number of steps, unless patience ends training earlier.

        Args:
            steps_an_epoch: of the current epoch and the ones after it.
            progress: of the run; None before its first step.
        """
        progress = progress or Progress()
        n_steps = self.n_steps or sys.maxsize
        if self.n_epochs is None:
            return n_steps
        rest = (self.n_epochs - progress.epoch) * steps_an_epoch
        return min(n_steps, progress.step - progress.epoch_step + rest)

    def checkpoint_due(self, progress: Progress) -> bool:
        """Whether a checkpoint follows the last step."""
        return progress.step % self.checkpoint_every == 0

    def evaluation_due(self, progress: Progress) -> bool:
        """Whether an evaluation follows the last step."""
        every = self.evaluate_every
        return every is not None and progress.step % every == 0
