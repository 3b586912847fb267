"""The examples of an experiment: to train on, to decide by, to test on."""

import argparse
import hashlib
import json
from typing import NamedTuple

import numpy as np

from elmo_keras.tasks.experiments.task import Task

HELD_OUT_RUNS = 4  # of neighbouring examples, which may be of one document


class Data(NamedTuple):
    """The examples of an experiment; `test` may be empty."""

    train: list[dict]
    dev: list[dict]
    test: list[dict]

    @property
    def digest(self) -> str:
        """What tells whether they are the same."""
        text = json.dumps(self, ensure_ascii=False).encode()
        return hashlib.sha256(text).hexdigest()[:16]


def read_data(task: Task, arguments: argparse.Namespace) -> Data:
    """The examples of --train, --dev and --test.

    Raises:
        ValueError, OSError: see `experiment.prepare`.
    """
    examples = [
        task.read(path, arguments) if path else []
        for path in (arguments.train, arguments.dev, arguments.test)
    ]
    data = Data(*examples)
    if arguments.dev is None:
        data = data._replace(**_held_out(data.train, arguments.dev_share))
    data = data._replace(train=data.train[: arguments.limit])
    if not data.train or not data.dev:
        raise ValueError(
            f"{arguments.train} holds {len(examples[0])} examples: too few to train on "
            "some and hold out others."
        )
    return data


def _held_out(examples, share):
    """A few long runs of neighbours, all over the file, are for dev."""
    size = max(1, round(len(examples) * share / HELD_OUT_RUNS))
    block = np.arange(len(examples)) // size
    is_dev = np.floor((block + 1) * share) > np.floor(block * share)
    return {
        name: [example for example, d in zip(examples, is_dev) if d == wanted]
        for name, wanted in (("train", False), ("dev", True))
    }
