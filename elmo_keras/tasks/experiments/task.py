"""The parts of a task."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from elmo_keras.util.argument_types import positive, rate

if TYPE_CHECKING:
    import keras

    from elmo_keras.tasks.experiments.batches import Batches
    from elmo_keras.tasks.layers.task_model import TaskModel
    from elmo_keras.tasks.layers.token_vectors import TokenVectors

UNITS, DROPOUT = "LSTM size per direction", "on the LSTMs' outputs"


def of_model(argument: str, default: float, help: str, **more: Any) -> dict[str, Any]:
    """An option that sets an argument of the model's constructor, with its default."""
    kind = rate if argument == "dropout" else positive(type(default))
    given = {"argument": argument, "default": default, "help": help, "type": kind}
    return given | more


class Task(NamedTuple):
    """A task whose models `experiment` trains and compares; examples are mappings.

    `read` and `of_examples` are given the task's own options and `train`, by their names.
    """

    name: str  # of the task's folder and command
    model_path: str  # the class below `elmo_keras.tasks`, imported with its first use
    # The task's own options by name, in the order of the results: the arguments of
    # argparse's `add_argument`; see also `of_model`.
    options: Mapping[str, Mapping[str, Any]]
    # Reads a file; raises a `ValueError` that begins with `file:line:`.
    read: Callable[[Path, SimpleNamespace], list[dict]]
    # The label of each example, see `Batches`.
    targets: Callable[[list[dict], "keras.Model"], Sequence]
    # Numbers of each example (examples, n), of what `batches.predictions` gives.
    numbers: Callable[["keras.Model", list[dict], list], np.ndarray]
    # Scores by name of these numbers; the first one stops training.
    scores: Callable[[np.ndarray], dict[str, float]]
    # The arguments of the model that the training examples decide.
    of_examples: Callable[[list[dict], SimpleNamespace], dict[str, Any]] = (
        lambda examples, options: {}
    )
    # Changes the model after each epoch so that it scores best on held-out examples.
    calibrate: "Callable[[keras.Model, list[dict], Batches], None]" = (
        lambda model, examples, batches: None
    )
    defaults: Mapping[str, Any] = {}  # of options, where the task has others
    number_fields: Sequence[str] = ()  # that the model reads, see `Batches`
    loss: str | None = None  # for `compile`; None if the model has a `compute_loss`
    batches_path: str = "experiments.batches.Batches"

    @property
    def model_class(self) -> "type[TaskModel]":
        return _class_at(self.model_path)

    @property
    def batches_class(self) -> "type[Batches]":
        return _class_at(self.batches_path)

    def texts(self, examples: list[dict]) -> list[list[str]]:
        return self.batches_class.texts(examples, self.model_class.text_fields)

    def batches(self, examples: list[dict], **options) -> "Batches":
        return self.batches_class(
            examples,
            self.model_class.text_fields,
            self.number_fields,
            compares_tokens=self.model_class.compares_tokens,
            **options,
        )

    def add_arguments(self, parser) -> None:
        group = parser.add_argument_group(self.name)
        for name, settings in self.options.items():
            settings = {k: x for k, x in settings.items() if k != "argument"}
            group.add_argument(f"--{name.replace('_', '-')}", **settings)
        parser.set_defaults(**self.defaults)

    def model(
        self,
        token_vectors: "TokenVectors",
        examples: list[dict],
        options: SimpleNamespace,
    ) -> "TaskModel":
        given = {
            settings["argument"]: getattr(options, name)
            for name, settings in self.options.items()
            if "argument" in settings
        }
        return self.model_class(
            token_vectors, **self.of_examples(examples, options), **given
        )


def _class_at(path):
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(f"elmo_keras.tasks.{module}"), name)
