"""The command of a task: the options that all tasks share, and the variants they choose."""

import argparse
import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from elmo_keras.hub.local_files import (
    ARITHMETIC,
    MODEL_HELP,
    model_title,
)
from elmo_keras.tasks.experiments.task import Task
from elmo_keras.tasks.layers import PLACES
from elmo_keras.util.argument_types import (
    Distinct,
    layer_or,
    non_negative,
    positive,
    rate,
    seed,
    share,
)
from elmo_keras.util.command import command_parser, run_command

if TYPE_CHECKING:
    from elmo_keras.elmo import Elmo


class Variant(NamedTuple):
    """One way to make the token vectors of a task."""

    elmo: str | Path | None = None  # see `Elmo.from_pretrained`; None for the baseline
    elmo_at: str = "input"  # or "output" or "both", see `TokenVectors`
    layers: str | int = "mix"  # see `layers.ScalarMix`
    l2: float = 0.001  # the paper's λ
    layer_norm: bool = False
    gamma: float | None = None  # at the start; None for 1, or the γ of the biLM's mix
    elmo_dropout: float = 0.5
    fine_tune: bool = False  # the biLM is trained as well
    arithmetic: str | None = None  # of a frozen biLM; None for float32
    share: float = 1.0  # of the training data

    @property
    def name(self) -> str:
        """The name of its files, made of the settings that differ from the defaults."""
        parts = ["baseline"]
        if self.elmo is not None:
            parts = ["elmo", model_title(self.elmo)]
            parts += [self.elmo_at] * (self.elmo_at != USUAL.elmo_at)
            is_index = isinstance(self.layers, int)
            layers = f"layer-{self.layers}" if is_index else self.layers
            parts += [layers] * (self.layers != USUAL.layers)
            parts += [f"l2-{self.l2:g}"] * (self.l2 != USUAL.l2)
            parts += ["normalised"] * self.layer_norm
            parts += [] if self.gamma is None else [f"gamma-{self.gamma:g}"]
            is_usual = self.elmo_dropout == USUAL.elmo_dropout
            parts += [f"dropout-{self.elmo_dropout:g}"] * (not is_usual)
            parts += ["tuned"] * self.fine_tune
            parts += [self.arithmetic] * (self.arithmetic not in (None, "float32"))
        parts += [f"share-{self.share:g}"] * (self.share != USUAL.share)
        return "-".join(parts)

    def layer(self) -> "Elmo | None":
        from elmo_keras.elmo import Elmo  # by Keras

        if self.elmo is None:
            return None
        return Elmo.from_pretrained(
            self.elmo,
            num_representations=2 if self.elmo_at == "both" else 1,
            layers=self.layers,
            gamma=self.gamma,
            l2=self.l2 if self.layers == "mix" else 0.0,
            layer_norm=self.layer_norm,
            dropout=self.elmo_dropout,
            trainable_bilm=self.fine_tune,
        )


# Files are compared by their examples; seeds and variants have their own entries.
NO_SETTINGS = "train dev test output seeds baseline no_cache of_task".split()
USUAL = Variant()
WORD_DIM = 100  # of random vectors


def _option(group, help=None, **settings):
    """A field of a group of `--help`, with the arguments of `add_argument`."""
    return dataclasses.field(metadata={"group": group, "help": help} | settings)


_data, _elmo, _training = (
    functools.partial(_option, group) for group in ("data", "ELMo", "training")
)
FLAG = {"action": "store_true"}
FILE = {"type": Path, "metavar": "FILE"}
COUNT = positive(int)


@dataclasses.dataclass(frozen=True)
class ExperimentOptions:
    """The options of a task's command; `--help` describes them."""

    train: Path = _data(required=True, **FILE)
    dev: Path | None = _data("its score decides when training stops", **FILE)
    test: Path | None = _data("scored with the best weights", **FILE)
    dev_share: float = _data("of --train, without --dev (0.2)", type=share, default=0.2)
    limit: int | None = _data("first N training examples", type=COUNT, metavar="N")
    share: float = _data("random part of --train, by seed", type=share, default=1.0)
    output: Path = _data(
        "folder of results.json and the models; finished runs are not repeated",
        type=Path,
        required=True,
        metavar="DIR",
    )
    elmo: Sequence[str | Path] = _elmo(
        f"{MODEL_HELP}; repeat it to compare several",
        action="append",
        default=[],
        metavar="MODEL",
    )
    baseline: bool = _elmo("train the baseline as well", **FLAG)
    elmo_at: str = _elmo("where ELMo is added", choices=PLACES, default=USUAL.elmo_at)
    layers: str | int = _elmo(
        "mix (learned, the default), average, top, 0, 1, …",
        type=layer_or("mix", "average", "top"),
        default=USUAL.layers,
    )
    l2: float = _elmo(
        "L2 penalty on the mix", type=non_negative(float), default=USUAL.l2, metavar="λ"
    )
    layer_norm: bool = _elmo("normalise each layer of a token before the mix", **FLAG)
    gamma: float | None = _elmo(
        "what the mix's factor starts from (1)", type=positive(float), metavar="γ"
    )
    elmo_dropout: float = _elmo(type=rate, default=USUAL.elmo_dropout)
    fine_tune: bool = _elmo("train the biLM as well", **FLAG)
    arithmetic: str | None = _elmo(**ARITHMETIC)
    no_cache: bool = _elmo("run a frozen biLM in every epoch", **FLAG)
    seeds: Sequence[int] = _training(type=seed, nargs="+", action=Distinct, default=[1])
    epochs: int = _training("maximum (default: 50)", type=COUNT, default=50)
    patience: int = _training(
        "epochs without a better dev score", type=COUNT, default=5
    )
    batch_size: int = _training(type=COUNT, default=32)
    learning_rate: float = _training(type=positive(float), default=1e-3)
    dropout: float = _training("on word and character vectors", type=rate, default=0.5)
    word_dim: int | None = _training(
        f"default: {WORD_DIM}, or as --word-vectors", type=COUNT, metavar="N"
    )
    word_vectors: Path | None = _training(
        "vectors that words start with: GloVe, word2vec (text or binary)", **FILE
    )
    freeze_word_vectors: bool = _training("don't train any of them", **FLAG)
    character_dim: int = _training(type=COUNT, default=64)
    # The task's own options, see `Task.options`, and `train`.
    of_task: SimpleNamespace = dataclasses.field(default_factory=SimpleNamespace)

    def variants(self) -> list[Variant]:
        _, *chosen = (getattr(self, name) for name in Variant._fields)
        given = [Variant(elmo, *chosen) for elmo in self.elmo]
        if self.baseline or not given:
            given.insert(0, Variant(share=self.share))
        cached = not (self.no_cache or self.fine_tune)
        if self.arithmetic not in (None, "float32") and not cached:
            raise ValueError(
                "--arithmetic is for layers that are computed once. Leave out "
                "--fine-tune and --no-cache."
            )
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


def main(
    task: Task, description: str | None, arguments: Sequence[str] | None = None
) -> int:
    program = f"elmo_keras.tasks.{task.name}"
    p = parser(program, task, description)
    options, _ = parse(p, task, arguments)

    def work():
        from elmo_keras.tasks.experiments import experiment, results  # by Keras

        records = experiment.run(task, options, options.variants())
        print(results.results_table(records))

    return run_command(program, work, "Interrupted. The same command resumes.")
