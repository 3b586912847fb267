"""What a task is: its settings, and how examples become batches, models and scores."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from cyclopts import Parameter

from elmo_keras.config import Arithmetic
from elmo_keras.hub.local_files import model_title
from elmo_keras.util.arguments import (
    Count,
    Index,
    NonNegative,
    OneLayer,
    Positive,
    Rate,
    Seeds,
    Share,
    Shares,
)

if TYPE_CHECKING:
    from elmo_keras.elmo import Elmo
    from elmo_keras.embed.layer_cache import LayerCache
    from elmo_keras.tasks.batches import Batches
    from elmo_keras.tasks.task_model import TaskModel
    from elmo_keras.tasks.token_vectors import TokenVectors

# Not recorded: files count by their examples; each seed and variant has its own entry.
UNRECORDED = (
    "train dev test output seeds baseline no_cache table shares picture paired".split()
)
# Settings of ELMo and the data → their parts of a run's name, where not the defaults.
NAME_PARTS = {
    "elmo_at": "{}",
    "layers": "{}",
    "l2": "l2-{:g}",
    "layer_norm": "normalised",
    "gamma": "gamma-{:g}",
    "elmo_dropout": "dropout-{:g}",
    "fine_tune": "tuned",
    "arithmetic": "{}",
    "share": "share-{:g}",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """A task with its settings; `tasks.run.run` trains and compares its models.

    Examples are dicts, one for each text, pair, question or document. A task adds its
    settings to these, and says how examples are read, learned and scored. A variant is a
    task with one model in `elmo`, or none.

    Args:
        train: file of training examples.
        output: folder of results.json and the models; finished runs are not repeated.
        dev: file whose score decides when training stops.
        test: file that is scored with the best weights.
        dev_share: share of `train` that is held out where there is no `dev`.
        limit: the first examples of `train` that are used; None for all.
        share: random share of `train`, another one for each seed.
        elmo: models to compare, see `Elmo.from_pretrained`.
        baseline: whether a model without ELMo is trained as well.
        elmo_at: where ELMo is added: `"input"`, `"output"` or `"both"`.
        layers: `"mix"`, `"average"`, `"top"`, or the index of a layer.
        l2: penalty on the mix, the paper's λ.
        layer_norm: whether each layer of a token is normalised before the mix.
        gamma: what the mix's factor starts from; 1 if None.
        elmo_dropout: rate of the dropout on ELMo.
        fine_tune: whether the biLM is trained as well.
        arithmetic: of a frozen biLM; float32 if None.
        no_cache: whether a frozen biLM runs in every epoch.
        seeds: one run for each.
        epochs: maximum number of epochs.
        patience: epochs without a better dev score after which training stops.
        batch_size: examples in a batch.
        learning_rate: of Adam.
        schedule: `"constant"`, or `"cosine"`: the rate falls to 0 in the last epoch.
        dropout: rate of the dropout on word and character vectors.
        word_dim: size of a word's vector, 0 for none; 100, or that of `word_vectors`, if
            None.
        min_count: a word has a vector of its own if it occurs this often in `train`.
        word_vectors: file of vectors that words start with: GloVe, or word2vec as text
            or binary.
        freeze_word_vectors: whether no word vector is trained.
        character_dim: size of the vector of a word's characters, 0 for none.
        units: size of each LSTM in each direction.
        layer_dropout: rate of the dropout between the layers.
        table: what is compared: `models`, no ELMo and each --model; `mixes`, no ELMo,
            the last layer, the average of the layers and the learned mix with λ = 1 and
            0.001; `places`, ELMo at the input, at the output and at both; `shares`, no
            ELMo and ELMo by the share of the training data.
        shares: of the training data, for --table shares.
        picture: ….png or ….svg, for --table shares.
        paired: whether each row is tested against the one before it.
    """

    train: Path
    output: Path
    dev: Path | None = None
    test: Path | None = None
    dev_share: Share = 0.2
    limit: Count | None = None
    share: Share = 1.0
    elmo: Annotated[Sequence[str], Parameter(name="--model")] = ()
    baseline: bool = False
    elmo_at: Literal["input", "output", "both"] = "input"
    layers: OneLayer = "mix"
    l2: NonNegative = 0.001
    layer_norm: bool = False
    gamma: Positive | None = None
    elmo_dropout: Rate = 0.5
    fine_tune: bool = False
    arithmetic: Arithmetic | None = None
    no_cache: bool = False
    seeds: Seeds = (1,)
    epochs: Count = 50
    patience: Count = 5
    batch_size: Count = 32
    learning_rate: Positive = 1e-3
    schedule: Literal["constant", "cosine"] = "constant"
    dropout: Rate = 0.5
    word_dim: Index | None = None
    min_count: Count = 2
    word_vectors: Path | None = None
    freeze_word_vectors: bool = False
    character_dim: Index = 64
    units: Count = 100
    layer_dropout: Rate = 0.2
    table: Literal["models", "mixes", "places", "shares"] | None = None
    shares: Shares = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
    picture: Path | None = None
    paired: bool = False

    name: ClassVar[str]  # of the task's folder and command
    text_fields: ClassVar[tuple[str, ...]] = ("tokens",)  # see `TaskModel`
    compares_tokens: ClassVar[bool] = False
    loss: ClassVar[str | None] = None  # for `compile`, if the model computes none

    def variants(self) -> list[Self]:
        """Without ELMo if asked for, and with each model."""
        cached = not (self.no_cache or self.fine_tune)
        if self.arithmetic not in (None, "float32") and not cached:
            raise ValueError(
                "--arithmetic is for layers that are computed once. Leave out "
                "--fine-tune and --no-cache."
            )
        variants = [dataclasses.replace(self, elmo=(model,)) for model in self.elmo]
        if self.baseline or not variants:
            usual = {name: getattr(Task, name) for name in NAME_PARTS}
            usual["share"] = self.share
            variants.insert(0, dataclasses.replace(self, elmo=(), **usual))
        names = [variant.variant for variant in variants]
        if len(set(names)) < len(names):
            raise ValueError(
                "The models of --model should have different names, as results are "
                f"named after them. Received: {' '.join(map(str, self.elmo))}"
            )
        return variants

    @property
    def variant(self) -> str:
        """The name of a variant, made of the settings that differ from the defaults."""
        parts = ["elmo", model_title(self.elmo[0])] if self.elmo else ["baseline"]
        for name, part in NAME_PARTS.items():
            value = getattr(self, name)
            if name == "layers" and isinstance(value, int):
                part = "layer-{}"
            if value not in (getattr(Task, name), "float32"):
                parts.append(part.format(value))
        return "-".join(parts)

    def elmo_layer(self) -> "Elmo | None":
        from elmo_keras.elmo import Elmo  # by Keras

        if not self.elmo:
            return None
        return Elmo.from_pretrained(
            self.elmo[0],
            num_representations=2 if self.elmo_at == "both" else 1,
            layers=self.layers,
            gamma=self.gamma,
            l2=self.l2 if self.layers == "mix" else 0.0,
            layer_norm=self.layer_norm,
            dropout=self.elmo_dropout,
            trainable_bilm=self.fine_tune,
        )

    def settings(self) -> dict[str, Any]:
        """The settings that the outcome of a run depends on, the task's own last."""
        settings = {n: x for n, x in vars(self).items() if n not in UNRECORDED}
        return settings | {"elmo": self.elmo[0] if self.elmo else None}

    def read(self, path: Path) -> list[dict]:
        """The examples of a file; a `ValueError` begins with `file:line:`."""
        raise NotImplementedError

    def texts(self, examples: Sequence[dict]) -> list[list[str]]:
        """All lists of tokens of examples, as the model reads them."""
        return [example[field] for example in examples for field in self.text_fields]

    def model(self, token_vectors: "TokenVectors", examples: list[dict]) -> "TaskModel":
        """A model for the labels of training examples."""
        raise NotImplementedError

    def targets(self, examples: list[dict], model: "TaskModel") -> Sequence:
        """The label of each example, see `Batches`."""
        raise NotImplementedError

    def batches(
        self,
        examples: list[dict],
        *,
        labels: Sequence | None = None,
        cache: "LayerCache | None" = None,
        integer_fields: Sequence[str] = (),
    ) -> "Batches":
        from elmo_keras.tasks.batches import Batches  # by TensorFlow

        return Batches(
            examples,
            self.text_fields,
            integer_fields,
            labels=labels,
            cache=cache,
            batch_size=self.batch_size,
            compares_tokens=self.compares_tokens,
        )

    def calibrate(
        self, model: "TaskModel", examples: list[dict], batches: "Batches"
    ) -> None:
        """Changes the model after each epoch so that it scores best on held-out examples."""

    def statistics(
        self, model: "TaskModel", examples: list[dict], predictions: list
    ) -> np.ndarray:
        """Counts `(examples, n)`, from which `scores` computes sums or means."""
        raise NotImplementedError

    def scores(self, statistics: np.ndarray) -> dict[str, float]:
        """Scores from 0 to 1 by name; the first one stops training."""
        raise NotImplementedError

    def first_score(self, statistics: np.ndarray) -> float:
        return float(next(iter(self.scores(statistics).values())))

    def evaluate(
        self,
        model: "TaskModel",
        examples: list[dict],
        cache: "LayerCache | None" = None,
    ) -> np.ndarray:
        """The statistics of a model's predictions, by cached layers or the model's biLM."""
        from elmo_keras.tasks.batches import predictions  # by TensorFlow

        batches = self.batches(examples, cache=cache)
        return self.statistics(
            model, examples, predictions(model.predict_on_batch, batches)
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelTask(Task):
    """A task whose examples have a label, or several."""

    compares_tokens = True

    def targets(self, examples, model):
        """The index of each label; of multi-label texts, 1 for each right one, else 0."""
        if model.multi_label:
            rows = [np.isin(model.labels, e["labels"]) for e in examples]
            return [row.astype("float32") for row in rows]
        return [model.labels.index(example["label"]) for example in examples]

    def statistics(self, model, examples, predictions):
        """Whether a label is right; or of each label whether it is, is expected and predicted."""
        predicted = model.decide(predictions)
        if not model.multi_label:
            pairs = zip(examples, predicted, strict=True)
            return np.array([[example["label"] == label] for example, label in pairs])
        rows = [example["labels"] for example in examples]
        expected = np.array([np.isin(model.labels, labels) for labels in rows])
        predicted = np.array([np.isin(model.labels, labels) for labels in predicted])
        return np.hstack([expected & predicted, expected, predicted])

    def scores(self, statistics):
        """Accuracy; or F1 = 2 · right / (expected + predicted), by label and over all."""
        if statistics.shape[1] == 1:
            return {"accuracy": float(statistics.mean())}
        right, expected, predicted = np.split(statistics.sum(axis=0), 3)
        total = expected + predicted
        macro = 2 * right / np.maximum(total, 1)
        micro = 2 * right.sum() / max(1, total.sum())
        return {"macro F1": float(macro.mean()), "micro F1": float(micro)}
