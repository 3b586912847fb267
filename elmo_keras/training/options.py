"""The options of training: texts, settings of a run, limits."""

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from cyclopts import Parameter

from elmo_keras.base.argument_checks import check_choices
from elmo_keras.commands.arguments import (
    Count,
    Index,
    Positive,
    Rate,
    Seed,
    Share,
    Texts,
)
from elmo_keras.config import PRESETS, TokenizerName
from elmo_keras.text.dictionary import SPECIAL_WORDS

if TYPE_CHECKING:
    from elmo_keras.training.progress import Progress

EPOCHS, TUNING_EPOCHS = 10, 5  # if there is no limit


class OptimizerRow(NamedTuple):
    rate: float  # learning rate of a new model
    tuning_rate: float  # the same with a model to start from
    n_variables: int  # the optimizer's for each weight


OPTIMIZERS = {
    "adagrad": OptimizerRow(0.2, 0.02, 1),
    "adam": OptimizerRow(0.002, 0.0005, 2),
    "lion": OptimizerRow(0.001, 0.0002, 1),
    "muon": OptimizerRow(0.005, 0.001, 2),
    "rmsprop": OptimizerRow(0.001, 0.0002, 1),
    "sgd": OptimizerRow(0.1, 0.01, 0),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextData:
    """The files of text, plain or gzipped, and the source of the vocabulary.

    Args:
        train: patterns of text files; Python's language reference if not given
        valid: patterns of held-out text files; if not given, every 20th sentence of the
            training text, at most 2,000, is held out
        raw_text: the lines are paragraphs, to be split into sentences and words
        tokenizer: how the lines were split, and how the model splits a str; spaces if
            neither it nor raw text is given
        vocabulary: a vocab.txt to use
        vocabulary_text: patterns of further text whose words are counted
        vocabulary_size: maximum number of words
        min_count: rarer words are `<UNK>`; 2 if not given
    """

    train: Texts | None = None
    valid: Texts | None = None
    raw_text: bool = False
    tokenizer: TokenizerName | None = None
    vocabulary: Path | None = None
    vocabulary_text: Texts | None = None
    vocabulary_size: Count | None = None
    min_count: Count | None = None

    def __post_init__(self):
        if self.raw_text and self.tokenizer == "spaces":
            raise ValueError(
                "`tokenizer` should be left out: raw text is split into words."
            )
        size, special = self.vocabulary_size, len(SPECIAL_WORDS)
        if size is not None and size <= special:
            raise ValueError(
                f"`vocabulary_size` should be at least {special + 1}, as "
                f"{', '.join(SPECIAL_WORDS)} are part of it. Received: {size}"
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The settings of a run: what it starts from, and how updates are computed.

    Args:
        preset: sizes of a new model: small, medium, original, tiny, or an options.json;
            tiny if not given
        tokens: a model without characters, with a vector for each word of the vocabulary
        max_characters_per_token: longer words are cut; 50 if not given
        cut_at: where they are cut; byte if not given
        unicode_normalization: normal form of the text
        init: a model to start from: a model directory, a zip, a checkpoint of bilm-tf,
            or a published model's name or address
        options: published options.json to start from, with --weights
        weights: published HDF5 weights, with --options
        new_softmax: make a new softmax for the words of the new text
        warm_up: steps that train only a new softmax first; if not given 500, but at most
            a quarter of all
        zero_state: probability that a sentence is read from the zero state, as Elmo
            reads it, and not from where the one before ended; 0.1 if not given
        published_state: always carry the LSTM state over, as bilm-tf does; the
            perplexity with the state carried over chooses the model
        seed: decides initial weights, order of the sentences, negatives and dropout
        batch_size: rows of text per replica; 128 if not given, 32 with a model to start
            from
        unroll_steps: tokens of each row in a step
        negatives: number of negatives of the sampled softmax
        full_softmax: no sampling
        dropout: on the inputs of the LSTM layers and the last output
        clip_norm: global norm at which gradients are clipped
        optimizer: adagrad if not given, adam with a model to start from
        learning_rate: if not given, one for the optimizer: 0.2 for adagrad, 0.005 for
            muon; with a model to start from a lower one, 0.0005 for adam
        schedule: learning rate over the steps; constant if not given, cosine with a model
            to start from, which rises first, in a tenth of the steps (at most 1000)
        arithmetic: number format of the matrix products
        replicas: number of replicas on this machine; all GPUs if not given
        parts: number of parts of a batch, computed one after another (gradient
            accumulation): same update, less memory
        jit_compile: XLA compiles the step for a few sizes of batches, and where it can't,
            one line says so and the plain step trains; if not given, where there is a
            GPU (this was never run on one)
    """

    preset: str | None = None
    tokens: bool = False
    max_characters_per_token: Count | None = None
    cut_at: Literal["byte", "character"] | None = None
    unicode_normalization: Literal["NFC"] | None = None
    init: str | None = None
    options: str | None = None
    weights: str | None = None
    new_softmax: bool = False
    warm_up: Index | None = None
    zero_state: Share | None = None
    published_state: bool = False
    seed: Seed = 0
    batch_size: Count | None = None
    unroll_steps: Count = 20
    negatives: Count = 8192
    full_softmax: bool = False
    dropout: Rate = 0.1
    clip_norm: Positive = 10.0
    optimizer: Literal["adagrad", "adam", "lion", "muon", "rmsprop", "sgd"] | None = (
        None
    )
    learning_rate: Positive | None = None
    schedule: Literal["constant", "cosine", "linear"] | None = None
    arithmetic: Literal["float32", "mixed_bfloat16"] = "float32"
    replicas: Count | None = None
    parts: Count = 1
    jit_compile: Annotated[bool | None, Parameter(negative="--no-jit-compile")] = None

    def __post_init__(self):
        if self.preset and not self.preset.endswith(".json"):
            check_choices(sorted(PRESETS), preset=self.preset)
        if (self.options is None) != (self.weights is None):
            raise ValueError("`options` and `weights` should be given together.")
        for name, excluded in ("init", "options"), ("zero_state", "published_state"):
            if getattr(self, name) is not None and getattr(self, excluded):
                raise ValueError(f"`{name}` excludes `{excluded}`. Give one.")
        surplus, reason = sorted(self.character_options), ""
        if self.model:
            surplus += [name for name in ("preset", "tokens") if getattr(self, name)]
            reason = "the model to start from fixes the sizes and the characters"
        elif self.tokens:
            surplus = [name for name in surplus if name != "unicode_normalization"]
            reason = "a model of tokens has no characters"
        if reason and surplus:
            raise ValueError(f"`{surplus[-1]}` should be left out: {reason}.")
        if self.n_rows % self.parts:
            raise ValueError(
                "`batch_size` should be a multiple of `parts`. Received: "
                f"{self.n_rows} and {self.parts}"
            )

    @property
    def model(self) -> str | None:
        """The model to start from, for `find_model`; None for random weights."""
        return self.init or self.options

    @property
    def character_options(self) -> dict[str, Any]:
        names = "max_characters_per_token", "cut_at", "unicode_normalization"
        changes = {name: getattr(self, name) for name in names}
        return {name: value for name, value in changes.items() if value is not None}

    @property
    def zero_state_share(self) -> float:
        return 0.0 if self.published_state else self.zero_state or 0.1

    @property
    def n_rows(self) -> int:
        """The rows of text that a replica reads in a step."""
        return self.batch_size or (32 if self.model else 128)

    @property
    def optimizer_name(self) -> str:
        return self.optimizer or ("adam" if self.model else "adagrad")

    @property
    def schedule_name(self) -> str:
        return self.schedule or ("cosine" if self.model else "constant")

    @property
    def rate(self) -> float:
        row = OPTIMIZERS[self.optimizer_name]
        return self.learning_rate or (row.tuning_rate if self.model else row.rate)

    def n_negatives(self, vocabulary_size: int) -> int | None:
        """Negatives of the sampled softmax, or None if the softmax is full."""
        # Drawing nearly all words takes longer than scoring all of them.
        few = self.negatives <= 0.95 * vocabulary_size
        return self.negatives if few and not self.full_softmax else None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of training, and how often it evaluates and writes checkpoints.

    Args:
        epochs: maximum number of epochs; if neither they nor steps are given 10, or 5 with
            a model to start from
        steps: maximum number of steps
        patience: maximum number of evaluations in a row without a lower perplexity
        checkpoint_every: steps
        evaluate_every: steps; each epoch ends with one as well
        keep_last: keep the last weights, not those with the lowest held-out perplexity
    """

    epochs: Count | None = None
    steps: Count | None = None
    patience: Count | None = None
    checkpoint_every: Count = 500
    evaluate_every: Count | None = None
    keep_last: bool = False

    def reached(self, progress: "Progress") -> dict[str, int]:
        limits = {
            "epochs": (progress.epoch, self.epochs),
            "steps": (progress.step, self.steps),
            "patience": (progress.not_better, self.patience),
        }
        return {
            name: limit
            for name, (n, limit) in limits.items()
            if limit is not None and n >= limit
        }

    def total_steps(self, steps_an_epoch: int) -> int:
        """The number of steps, unless patience ends training earlier."""
        limits = [self.steps, self.epochs and self.epochs * steps_an_epoch]
        return min((n for n in limits if n is not None), default=sys.maxsize)
