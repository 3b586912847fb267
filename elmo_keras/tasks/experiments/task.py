"""What makes a task."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import keras

from elmo_keras.tasks.experiments.batches import Batches
from elmo_keras.tasks.models.token_vectors import TokenVectors


class Task(NamedTuple):
    """A task for `experiment`; examples are mappings of fields.

    Attributes:
        name: that of the command.
        read: from a path and the arguments to examples; what is wrong in a file is a
            `ValueError` that begins with `file:line:`.
        text_fields: the fields that hold lists of tokens. The model's inputs have
            them, and `F_layers` where the biLM's layers are cached, see `Batches`.
        targets: from examples and the model to a label for each, see `Batches`.
        model: from `TokenVectors`, the training examples and the arguments to a Keras
            model, which is compiled here.
        scores: from the model, examples and what `predict` gives for each of them (see
            `batches.predictions`) to scores by name, of which the first decides.
        add_arguments: adds the task's own options to a parser.
        number_fields: fields with numbers that the model reads, see `Batches`.
        loss: for `compile`; None where the model has a `compute_loss`.
        batches: what makes batches of examples.
    """

    name: str
    read: Callable[[Path, argparse.Namespace], list[dict]]
    text_fields: Sequence[str]
    targets: Callable[[list[dict], keras.Model], Sequence]
    model: Callable[[TokenVectors, list[dict], argparse.Namespace], keras.Model]
    scores: Callable[[keras.Model, list[dict], list], dict[str, float]]
    add_arguments: Callable[[argparse.ArgumentParser], None]
    number_fields: Sequence[str] = ()
    loss: str | keras.losses.Loss | None = None
    batches: type[Batches] = Batches
