"""The parts of a task."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import keras

from elmo_keras.cli.argument_types import positive, rate
from elmo_keras.tasks.experiments.batches import Batches
from elmo_keras.tasks.layers.task_model import TaskModel
from elmo_keras.tasks.layers.token_vectors import TokenVectors

UNITS = "LSTM size per direction"


class Option(NamedTuple):
    """An option of a task's command.

    Attributes:
        help: what `--help` says.
        argument: the argument of the model's constructor that it sets, which gives its
            type and its default; None for an option that the model does not take.
        settings: further arguments of `argparse`'s `add_argument`.
    """

    help: str
    argument: str | None = None
    settings: Mapping[str, Any] = {}


class Task(NamedTuple):
    """A task whose models `experiment` trains and compares.

    Examples are mappings of fields. `read` and `of_examples` are given the task's own
    options and `train`, by their names.

    Attributes:
        name: the name of the task's folder and command.
        model_class: the Keras model; its `text_fields` hold the tokens of examples, see
            `Batches`.
        options: the task's own options by name, in the order of `results.json`.
        read: reads examples, given a path and the options; raises a `ValueError` that
            begins with `file:line:` where a file is malformed.
        of_examples: the arguments of the model that the training examples decide, given
            these and the options.
        targets: the label of each example, given examples and the model, see
            `Batches`.
        scores: scores by name, given the model, examples and the result of
            `batches.predictions` for them; training stops by the first score.
        defaults: of shared options, and of its own where the model has another default.
        number_fields: fields with numbers that the model reads, see `Batches`.
        loss: for `compile`; None where the model has a `compute_loss`.
        batches: the class that makes batches of examples.
    """

    name: str
    model_class: type[TaskModel]
    options: Mapping[str, Option]
    read: Callable[[Path, SimpleNamespace], list[dict]]
    of_examples: Callable[[list[dict], SimpleNamespace], dict[str, Any]]
    targets: Callable[[list[dict], keras.Model], Sequence]
    scores: Callable[[keras.Model, list[dict], list], dict[str, float]]
    defaults: Mapping[str, Any] = {}
    number_fields: Sequence[str] = ()
    loss: str | None = None
    batches: type[Batches] = Batches

    @property
    def text_fields(self) -> Sequence[str]:
        """The fields that hold tokens."""
        return self.model_class.text_fields

    def add_arguments(self, parser) -> None:
        """Adds the task's own options to an `argparse` parser."""
        group = parser.add_argument_group(self.name)
        arguments = inspect.signature(self.model_class.__init__).parameters
        for name, option in self.options.items():
            settings = {"help": option.help}
            if option.argument:
                default = arguments[option.argument].default
                is_rate = option.argument == "dropout"
                settings["default"] = default
                settings["type"] = rate if is_rate else positive(type(default))
            flag = f"--{name.replace('_', '-')}"
            group.add_argument(flag, **settings | option.settings)
        parser.set_defaults(**self.defaults)

    def model(
        self,
        token_vectors: TokenVectors,
        examples: list[dict],
        options: SimpleNamespace,
    ) -> TaskModel:
        """The Keras model for training examples; `experiment` compiles it."""
        given = {
            option.argument: getattr(options, name)
            for name, option in self.options.items()
            if option.argument
        }
        return self.model_class(
            token_vectors, **self.of_examples(examples, options), **given
        )
