"""A task: how the examples of a kind are read, learned and scored; and settings of training."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from elmo_keras.base.argument_checks import (
    check_counts,
    check_lines,
    check_literals,
    check_numbers,
    shortened,
    warn,
)
from elmo_keras.commands.arguments import (
    Count,
    Index,
    NonNegative,
    OneLayer,
    Positive,
    Rate,
    Seed,
    Share,
)
from elmo_keras.config import Arithmetic
from elmo_keras.heads.kinds import find_kind, load
from elmo_keras.heads.reading import Rows, is_json, read_rows

if TYPE_CHECKING:
    from elmo_keras.heads.batches import ExampleBatches
    from elmo_keras.heads.model import TaskModel
    from elmo_keras.heads.token_vectors import TokenVectors

AUTO, NONE = "auto", "none"  # instead of a language model
# Settings that don't identify a run: examples count by their content, and a cache changes
# nothing.
UNRECORDED = "train", "dev", "test", "output", "no_cache"

_MAX_LABELS = 8  # number of labels in a warning


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """How a head is trained; None is the default of its kind.

    Args:
        train: file of training examples
        output: folder of the head, its card, model.keras and results.json; a finished
            run is not repeated
        dev: file whose score decides when training stops
        test: file that is scored with the best weights
        dev_share: share of the training file that is held out where there is no `dev`
        limit: the first N training examples
        share: random share of the training examples, another one for each seed
        model: language model, see `Elmo.from_pretrained`; none for no ELMo; auto for the
            package's, by the script of the texts
        elmo_at: where ELMo is added to the task's network
        layers: mix, average, top, or the index of a layer
        l2: penalty on the mix, the paper's λ
        no_layer_norm: leave the layers of a token as they are before the mix
        elmo_dropout: rate of the dropout on ELMo
        fine_tune: train the language model as well
        arithmetic: arithmetic of the frozen language model; int8 where LiteRT is installed
        no_cache: run a frozen language model in every epoch
        seed: decides initial weights, dropout and the order of the examples
        epochs: maximum number of epochs; 12, more for few examples, 15 for coref
        patience: epochs without a better dev score after which training stops; if not
            set, the best one of all is kept
        batch_size: examples in a batch; 32, or 8 for fewer than 1,000 examples
        learning_rate: learning rate of Adam; 0.003 for pos, ner and srl, 0.002 for ud,
            else 0.001
        schedule: constant, or cosine: the rate falls to 0 in the last epoch
        dropout: rate of the dropout on word and character vectors; 0.3 for pos, ner, srl
            and ud, else 0.5
        word_dim: size of a word's vector, 0 for none; 0, or that of `word_vectors`, 50 for
            coref and ud, 100 without ELMo at the input
        min_count: a word has a vector of its own if it occurs N times in the training text,
            an ending if N of its words have it
        endings: length of the longest endings of words that have a vector of `word_dim`;
            3 for ud, else 0 for none
        word_vectors: file of vectors that words start with: GloVe, or word2vec as text
        freeze_word_vectors: train no word vector
        character_dim: size of the vector of a word's characters, 0 for none; 0, or 64 for
            coref and without ELMo at the input
        units: size of each LSTM in each direction; 160 for pos, ner and srl, 200 for ud,
            50 for entail, else 100
        layer_dropout: rate of the dropout between the layers; 0.2 for classify and
            qa, else 0.3
    """

    train: Path
    output: Path
    dev: Path | None = None
    test: Path | None = None
    dev_share: Share = 0.2
    limit: Count | None = None
    share: Share = 1.0
    model: str | None = AUTO
    elmo_at: Literal["input", "output", "both"] = "input"
    layers: OneLayer = "mix"
    l2: NonNegative = 0.001
    no_layer_norm: bool = False
    elmo_dropout: Rate = 0.3
    fine_tune: bool = False
    arithmetic: Arithmetic | None = None
    no_cache: bool = False
    seed: Seed = 1
    epochs: Count | None = None
    patience: Count | None = None
    batch_size: Count | None = None
    learning_rate: Positive | None = None
    schedule: Literal["constant", "cosine"] = "cosine"
    dropout: Rate | None = None
    word_dim: Index | None = None
    min_count: Count = 2
    endings: Index | None = None
    word_vectors: Path | None = None
    freeze_word_vectors: bool = False
    character_dim: Index | None = None
    units: Count | None = None
    layer_dropout: Rate | None = None

    def __post_init__(self):
        """Checks what programs give; the command has checked its options already."""

        def only(*names):
            values = {name: getattr(self, name) for name in names}
            return {name: value for name, value in values.items() if value is not None}

        for name, value in only("output", "model", "word_vectors").items():
            if not isinstance(value, (str, os.PathLike)):
                received = f"Received: {shortened(value):.200}"
                raise TypeError(f"`{name}` should be a path or a name. {received}")
        counts = "limit", "epochs", "patience", "batch_size", "min_count", "units"
        check_counts(**only(*counts))
        check_counts(0, **only("word_dim", "endings", "character_dim"))
        check_counts(0, 2**32 - 1, seed=self.seed)
        check_numbers(0, 0.999, **only("dropout", "layer_dropout", "elmo_dropout"))
        check_numbers(1e-9, 0.999, dev_share=self.dev_share)
        check_numbers(1e-9, 1, share=self.share)
        check_numbers(1e-12, **only("learning_rate"))
        check_numbers(0, l2=self.l2)
        check_literals(self)


class Task:
    """How the examples of a kind of head, dicts, are read, learned and scored."""

    kind: ClassVar[str]
    text_fields: ClassVar[tuple[str, ...]] = ("tokens",)  # see `TaskModel`
    row_fields: ClassVar[tuple[str, ...]] = ("tokens",)  # hold the texts of rows
    # Fields of examples that are written with predictions; empty for all.
    written_fields: ClassVar[tuple[str, ...]] = ()
    read_file: ClassVar[Any] = None  # reads the kind's files that are not JSON
    tokenizer: str = "words"  # splits the texts of a pipeline, see `split_words`
    # Defaults of `Settings`; those of words and characters apply with ELMo at the input.
    defaults: ClassVar[dict[str, Any]] = {
        "learning_rate": 1e-3,
        "dropout": 0.5,
        "units": 100,
        "layer_dropout": 0.2,
        "epochs": 12,
        "word_dim": 0,
        "endings": 0,
        "character_dim": 0,
    }

    def __post_init__(self):
        check_literals(self)

    def read(self, path: Path) -> list[dict]:
        """The examples of a file; a `ValueError` names the file and the line.

        JSON and tables hold the rows of `read_rows`; other files are those of `read_file`.
        """
        if self.read_file is None or is_json(path):
            return self.read_rows(read_rows(path), path)
        return self.read_file(path)

    def read_rows(self, rows: Rows, source: str | Path) -> list[dict]:
        """The examples of dicts in memory, or of the lines of a table; errors name `source`."""
        raise NotImplementedError

    def cut(self, examples: list[dict]) -> list[dict]:
        """The parts of training examples that are each learned alone."""
        return examples

    def pair(self, text: Any, label: Any) -> dict[str, Any]:
        """The row of a text, or its tokens, and its label."""
        return {self.row_fields[0]: text, "tags": label}

    def check(self, train: list[dict], scored: Mapping[str, list[dict]]) -> None:
        """Refuses examples from which nothing is learned; warns of labels that `train` lacks.

        `scored` are the examples of dev and test by these names.
        """
        labels = self._labels(train)
        check_lines(labels=sorted(labels))  # before the language model computes
        for name, examples in scored.items():
            if labels and (new := sorted(self._labels(examples) - labels)):
                names = ", ".join(new[:_MAX_LABELS]) + ", …" * (len(new) > _MAX_LABELS)
                warn(f"{name} has labels that train lacks, and no head gives: {names}")

    def _labels(self, examples):
        return {label for example in examples for label in self.parts(example).values()}

    def texts(self, examples: Sequence[dict]) -> list[list[str]]:
        """All lists of tokens of examples, as the model reads them."""
        return [example[field] for example in examples for field in self.text_fields]

    def make_model(
        self, token_vectors: "TokenVectors", examples: list[dict], **sizes: Any
    ) -> "TaskModel":
        """A model for the labels of training examples; `sizes` are `units` and `dropout`."""
        make = load(find_kind(self.kind).model)
        return make(token_vectors, **self.model_options(examples), **sizes)

    def model_options(self, examples: list[dict]) -> dict[str, Any]:
        """Further arguments of a model that learns examples."""
        raise NotImplementedError

    def targets(self, examples: list[dict], model: "TaskModel") -> Sequence:
        """The label of each example, see `ExampleBatches`."""
        raise NotImplementedError

    def calibrate(self, model: "TaskModel", batches: "ExampleBatches") -> None:
        """Moves a model's thresholds to where held-out examples score best."""

    def head_arrays(self, examples: list[dict]) -> dict[str, np.ndarray]:
        """Name → weights of a head that its network doesn't have."""
        return {}

    def statistics(
        self, model: Any, examples: Sequence[Mapping], results: list
    ) -> np.ndarray:
        """Counts `(examples, n)` of what a model predicts, for `scores` to add up."""
        raise NotImplementedError

    def scores(self, statistics: np.ndarray) -> dict[str, float]:
        """Scores from 0 to 1 by name; the first one stops training."""
        raise NotImplementedError

    def parts(self, example: dict, result: Any = None) -> dict[Any, str]:
        """Labelled part → label, of an example or of a prediction for it."""
        return {}

    def companions(self) -> dict[str, "Task"]:
        """Folder → task of each further head that a pipeline needs, of the same files."""
        return {}
