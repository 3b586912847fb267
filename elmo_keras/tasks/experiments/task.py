"""The parts of a task."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import keras
import numpy as np

from elmo_keras.cli.argument_types import positive, rate
from elmo_keras.tasks.experiments.batches import Batches
from elmo_keras.tasks.layers.task_model import TaskModel
from elmo_keras.tasks.layers.token_vectors import TokenVectors

UNITS = "LSTM size per direction"


class Task(NamedTuple):
    """A task whose models `experiment` trains and compares; examples are mappings.

    `read` and `of_examples` are given the task's own options and `train`, by their names.
    """

    name: str  # of the task's folder and command
    model_class: type[TaskModel]
    # The task's own options by name, in the order of the results: the arguments of
    # argparse's `add_argument`. An `argument` of the model's constructor that an option
    # sets gives its type and its default.
    options: Mapping[str, Mapping[str, Any]]
    # Reads a file; raises a `ValueError` that begins with `file:line:`.
    read: Callable[[Path, SimpleNamespace], list[dict]]
    # The label of each example, see `Batches`.
    targets: Callable[[list[dict], keras.Model], Sequence]
    # Numbers of each example (examples, n), of what `batches.predictions` gives.
    numbers: Callable[[keras.Model, list[dict], list], np.ndarray]
    # Scores by name of these numbers; the first one stops training.
    scores: Callable[[np.ndarray], dict[str, float]]
    # The arguments of the model that the training examples decide.
    of_examples: Callable[[list[dict], SimpleNamespace], dict[str, Any]] = (
        lambda examples, options: {}
    )
    defaults: Mapping[str, Any] = {}  # of options, where the task has others
    number_fields: Sequence[str] = ()  # that the model reads, see `Batches`
    loss: str | None = None  # for `compile`; None if the model has a `compute_loss`
    batches_class: type[Batches] = Batches

    def texts(self, examples: list[dict]) -> list[list[str]]:
        return self.batches_class.texts(examples, self.model_class.text_fields)

    def batches(self, examples: list[dict], **options) -> Batches:
        return self.batches_class(
            examples,
            self.model_class.text_fields,
            self.number_fields,
            compares_tokens=self.model_class.compares_tokens,
            **options,
        )

    def add_arguments(self, parser) -> None:
        group = parser.add_argument_group(self.name)
        arguments = inspect.signature(self.model_class.__init__).parameters
        for name, settings in self.options.items():
            settings = dict(settings)
            if argument := settings.pop("argument", None):
                default = arguments[argument].default
                is_rate = argument == "dropout"
                settings["default"] = default
                settings["type"] = rate if is_rate else positive(type(default))
            group.add_argument(f"--{name.replace('_', '-')}", **settings)
        parser.set_defaults(**self.defaults)

    def model(
        self,
        token_vectors: TokenVectors,
        examples: list[dict],
        options: SimpleNamespace,
    ) -> TaskModel:
        given = {
            settings["argument"]: getattr(options, name)
            for name, settings in self.options.items()
            if "argument" in settings
        }
        return self.model_class(
            token_vectors, **self.of_examples(examples, options), **given
        )
