"""The options that the commands of all tasks share."""

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from elmo_keras.cli.argument_types import (
    Distinct,
    layer_or,
    non_negative,
    positive,
    rate,
    seed,
    share,
)
from elmo_keras.cli.command import command_parser
from elmo_keras.models.local_files import MODEL_HELP, path_or_name
from elmo_keras.tasks.experiments.given_words import WORD_DIM
from elmo_keras.tasks.experiments.task import Task
from elmo_keras.tasks.experiments.variants import Variant
from elmo_keras.tasks.layers.token_vectors import PLACES

# Files are compared by their examples; seeds and variants have their own entries.
NO_SETTINGS = "train dev test output seeds baseline no_cache of_task".split()
USUAL = Variant()


def _option(group, help=None, **settings):
    """A field of a group of `--help`, with the arguments of `add_argument`."""
    return dataclasses.field(metadata={"group": group, "help": help} | settings)


def _flag(group, help):
    return _option(group, help, action="store_true")


def _file(group, help=None, **settings):
    return _option(group, help, type=Path, metavar="FILE", **settings)


@dataclasses.dataclass(frozen=True)
class ExperimentOptions:
    """The options of a task's command; `--help` describes them.

    Attributes:
        of_task: the task's own options, see `Task.options`, and `train`.
    """

    train: Path = _file("data", required=True)
    dev: Path | None = _file("data", "its score decides when training stops")
    test: Path | None = _file("data", "scored with the best weights")
    dev_share: float = _option(
        "data",
        "share of --train to hold out without --dev (default: 0.2)",
        type=share,
        default=0.2,
    )
    limit: int | None = _option(
        "data", "first N training examples", type=positive(int), metavar="N"
    )
    share: float = _option(
        "data",
        "random share of the training examples, drawn anew for each seed",
        type=share,
        default=1.0,
    )
    output: Path = _option(
        "data",
        "folder of results.json and the models; finished runs are not repeated",
        type=Path,
        required=True,
        metavar="DIR",
    )
    elmo: Sequence[str | Path] = _option(
        "ELMo",
        f"{MODEL_HELP}; repeat it to compare several",
        type=path_or_name,
        action="append",
        default=[],
        metavar="MODEL",
    )
    baseline: bool = _flag("ELMo", "train the baseline as well")
    elmo_at: str = _option(
        "ELMo", "where ELMo is added", choices=PLACES, default=USUAL.elmo_at
    )
    scheme: str | int = _option(
        "ELMo",
        "the mix of the layers: learned (default), average, top, 0, 1, …",
        type=layer_or("learned", "average", "top"),
        default=USUAL.scheme,
    )
    l2: float = _option(
        "ELMo",
        "L2 penalty on the mix",
        type=non_negative(float),
        default=USUAL.l2,
        metavar="λ",
    )
    layer_norm: bool = _flag("ELMo", "normalise each layer of a token before the mix")
    gamma: float | None = _option(
        "ELMo",
        "what the mix's factor starts from (default: 1)",
        type=positive(float),
        metavar="γ",
    )
    elmo_dropout: float = _option("ELMo", type=rate, default=USUAL.elmo_dropout)
    fine_tune: bool = _flag("ELMo", "train the biLM as well")
    no_cache: bool = _flag("ELMo", "run a frozen biLM in every epoch")
    seeds: Sequence[int] = _option(
        "training", type=seed, nargs="+", action=Distinct, default=[1]
    )
    epochs: int = _option(
        "training", "maximum (default: 50)", type=positive(int), default=50
    )
    patience: int = _option(
        "training",
        "epochs without a better dev score after which training stops",
        type=positive(int),
        default=5,
    )
    batch_size: int = _option("training", type=positive(int), default=32)
    learning_rate: float = _option("training", type=positive(float), default=1e-3)
    dropout: float = _option(
        "training", "on word and character vectors", type=rate, default=0.5
    )
    word_dim: int | None = _option(
        "training",
        f"default: {WORD_DIM}, or as --word-vectors",
        type=positive(int),
        metavar="N",
    )
    word_vectors: Path | None = _file(
        "training", "vectors that words start with: GloVe, word2vec (text or binary)"
    )
    freeze_word_vectors: bool = _flag("training", "don't train any of them")
    character_dim: int = _option("training", type=positive(int), default=64)
    of_task: SimpleNamespace = dataclasses.field(default_factory=SimpleNamespace)

    def variants(self) -> list[Variant]:
        """The baseline, if requested or if `elmo` is empty, and each biLM's variant."""
        _, *chosen = (getattr(self, name) for name in Variant._fields)
        given = [Variant(elmo, *chosen) for elmo in self.elmo]
        if self.baseline or not given:
            given.insert(0, Variant(share=self.share))
        names = [variant.name for variant in given]
        if len(set(names)) < len(names):
            raise ValueError(
                "The models of --elmo should have different names, as results are "
                f"named after them. Received: {' '.join(map(str, self.elmo))}"
            )
        return given

    def settings(self) -> dict[str, Any]:
        """The options that the outcome of a run depends on, the task's own last."""
        values = vars(self) | vars(self.of_task)
        return {n: value for n, value in values.items() if n not in NO_SETTINGS}


SHARED = [f for f in dataclasses.fields(ExperimentOptions) if f.metadata]


def parser(
    program: str, task: Task, description: str | None
) -> argparse.ArgumentParser:
    """The command line of a task: the shared options, then its own."""
    p = command_parser(program, description)
    groups: dict[str, Any] = {}
    for field in SHARED:
        settings = dict(field.metadata)
        name = settings.pop("group")
        group = groups.get(name) or groups.setdefault(name, p.add_argument_group(name))
        group.add_argument(f"--{field.name.replace('_', '-')}", **settings)
    task.add_arguments(p)
    return p


def parse(
    p: argparse.ArgumentParser, task: Task, arguments: Sequence[str] | None
) -> tuple[ExperimentOptions, dict[str, Any]]:
    """The options of a task, and the values of options that were added to its `parser`."""
    values = vars(p.parse_args(arguments))
    of_task = {name: values.pop(name) for name in task.options}
    shared = {field.name: values.pop(field.name) for field in SHARED}
    of_task = SimpleNamespace(train=shared["train"], **of_task)
    return ExperimentOptions(**shared, of_task=of_task), values
