"""The options that the commands of all tasks share."""

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
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


@dataclasses.dataclass(frozen=True)
class ExperimentOptions:
    """The options of a task's command; `--help` describes the shared ones.

    Attributes:
        of_task: the task's own options, an instance of `Task.options`.
    """

    train: Path
    dev: Path | None
    test: Path | None
    dev_share: float
    limit: int | None
    share: float
    output: Path
    elmo: Sequence[str | Path]
    baseline: bool
    elmo_at: str
    scheme: str | int
    l2: float
    layer_norm: bool
    gamma: float | None
    elmo_dropout: float
    fine_tune: bool
    no_cache: bool
    seeds: Sequence[int]
    epochs: int
    patience: int
    batch_size: int
    learning_rate: float
    dropout: float
    word_dim: int | None
    word_vectors: Path | None
    freeze_word_vectors: bool
    character_dim: int
    of_task: Any

    def variants(self) -> list[Variant]:
        """The baseline, if requested or if `elmo` is empty, and each biLM's variant.

        Raises:
            ValueError: two biLMs have the same name.
        """
        given = [
            Variant(
                elmo=elmo,
                elmo_at=self.elmo_at,
                scheme=self.scheme,
                l2=self.l2,
                layer_norm=self.layer_norm,
                gamma=self.gamma,
                elmo_dropout=self.elmo_dropout,
                fine_tune=self.fine_tune,
                share=self.share,
            )
            for elmo in self.elmo
        ]
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
        values = vars(self) | self.of_task._asdict()
        return {n: value for n, value in values.items() if n not in NO_SETTINGS}


SHARED = {field.name for field in dataclasses.fields(ExperimentOptions)} - {"of_task"}


def parser(
    program: str, task: Task, description: str | None
) -> argparse.ArgumentParser:
    """The command line of a task: the shared options, then its own."""
    p = command_parser(program, description)
    _add_data(p.add_argument_group("data").add_argument)
    _add_elmo(p.add_argument_group("ELMo").add_argument)
    _add_training(p.add_argument_group("training").add_argument)
    task.add_arguments(p)
    return p


def parse(
    p: argparse.ArgumentParser, task: Task, arguments: Sequence[str] | None
) -> tuple[ExperimentOptions, dict[str, Any]]:
    """Parses a command line with `parser`, to which more options may have been added.

    Returns:
        The options of the task, and the values of those that were added.
    """
    values = vars(p.parse_args(arguments))
    of_task = task.options(**{name: values[name] for name in task.options._fields})
    shared = {name: values.pop(name) for name in SHARED}
    added = {n: v for n, v in values.items() if n not in of_task._fields}
    return ExperimentOptions(**shared, of_task=of_task), added


def _add_data(add):
    add("--train", type=Path, required=True, metavar="FILE")
    add(
        "--dev", type=Path, metavar="FILE", help="its score decides when training stops"
    )
    add("--test", type=Path, metavar="FILE", help="scored with the best weights")
    add(
        "--dev-share",
        type=share,
        default=0.2,
        help="share of --train to hold out without --dev (default: 0.2)",
    )
    add("--limit", type=positive(int), metavar="N", help="first N training examples")
    add(
        "--share",
        type=share,
        default=1.0,
        help="random share of the training examples, drawn anew for each seed",
    )
    add(
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of results.json and the models; finished runs are not repeated",
    )


def _add_elmo(add):
    usual = Variant()
    add(
        "--elmo",
        type=path_or_name,
        action="append",
        default=[],
        metavar="MODEL",
        help=f"{MODEL_HELP}; repeat it to compare several",
    )
    add("--baseline", action="store_true", help="train the baseline as well")
    add("--elmo-at", choices=PLACES, default=usual.elmo_at, help="where ELMo is added")
    _add_mix(add)
    add("--elmo-dropout", type=rate, default=usual.elmo_dropout)
    add("--fine-tune", action="store_true", help="train the biLM as well")
    add("--no-cache", action="store_true", help="run a frozen biLM in every epoch")


def _add_mix(add):
    usual = Variant()
    add(
        "--scheme",
        type=layer_or("learned", "average", "top"),
        default=usual.scheme,
        help="the mix of the layers: learned (default), average, top, 0, 1, …",
    )
    add(
        "--l2",
        type=non_negative(float),
        default=usual.l2,
        metavar="λ",
        help="L2 penalty on the mix",
    )
    add(
        "--layer-norm",
        action="store_true",
        help="normalise each layer of a token before the mix",
    )
    add(
        "--gamma",
        type=positive(float),
        metavar="γ",
        help="what the mix's factor starts from (default: 1)",
    )


def _add_training(add):
    add("--seeds", type=seed, nargs="+", action=Distinct, default=[1])
    add("--epochs", type=positive(int), default=50, help="maximum (default: 50)")
    add(
        "--patience",
        type=positive(int),
        default=5,
        help="epochs without a better dev score after which training stops",
    )
    add("--batch-size", type=positive(int), default=32)
    add("--learning-rate", type=positive(float), default=1e-3)
    add("--dropout", type=rate, default=0.5, help="on word and character vectors")
    add(
        "--word-dim",
        type=positive(int),
        metavar="N",
        help=f"default: {WORD_DIM}, or as --word-vectors",
    )
    add(
        "--word-vectors",
        type=Path,
        metavar="FILE",
        help="vectors that words start with: GloVe, word2vec (text or binary)",
    )
    add("--freeze-word-vectors", action="store_true", help="don't train any of them")
    add("--character-dim", type=positive(int), default=64)
