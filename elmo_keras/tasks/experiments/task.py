"""The parts of a task."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras

from elmo_keras.tasks.experiments.batches import Batches
from elmo_keras.tasks.layers.token_vectors import TokenVectors


class Task(NamedTuple):
    """A task whose models `experiment` trains and compares.

    Examples are mappings of fields.

    Attributes:
        name: the name of the task's folder and command.
        add_arguments: adds the task's own options to a parser.
        options: a NamedTuple with the options that `read` and `model` need, its fields
            named as in the parser: the task's own, in their order, and shared ones.
        read: reads examples, given a path and the `options`; raises a `ValueError` that
            begins with `file:line:` where a file is malformed.
        text_fields: the fields that hold lists of tokens. The model's inputs have
            them, and `F_layers` where the biLM's layers are cached, see `Batches`.
        number_fields: fields with numbers that the model reads, see `Batches`.
        model: makes the Keras model, given `TokenVectors`, the training examples and
            the `options`; `experiment` compiles it.
        loss: for `compile`; None where the model has a `compute_loss`.
        targets: the label of each example, given examples and the model, see
            `Batches`.
        scores: scores by name, given the model, examples and the result of
            `batches.predictions` for them; training stops by the first score.
        batches: the class that makes batches of examples.
    """

    name: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    options: type[tuple]
    read: Callable[[Path, Any], list[dict]]
    text_fields: Sequence[str]
    model: Callable[[TokenVectors, list[dict], Any], keras.Model]
    targets: Callable[[list[dict], keras.Model], Sequence]
    scores: Callable[[keras.Model, list[dict], list], dict[str, float]]
    number_fields: Sequence[str] = ()
    loss: str | keras.losses.Loss | None = None
    batches: type[Batches] = Batches
