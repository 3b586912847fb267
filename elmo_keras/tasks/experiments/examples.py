"""The examples of an experiment: training, development and test."""

import hashlib
import json
from typing import NamedTuple

import numpy as np

from elmo_keras.tasks.experiments.experiment_arguments import ExperimentOptions
from elmo_keras.tasks.experiments.task import Task

HELD_OUT_RUNS = 4  # of neighbouring examples, often from one document


class Data(NamedTuple):
    """The examples of an experiment; `test` may be empty."""

    train: list[dict]
    dev: list[dict]
    test: list[dict]

    @property
    def digest(self) -> str:
        """A hash of all examples."""
        text = json.dumps(self, ensure_ascii=False).encode()
        return hashlib.sha256(text).hexdigest()[:16]


def read_data(task: Task, options: ExperimentOptions) -> Data:
    """The examples of --train, --dev and --test.

    Raises:
        ValueError, OSError: see `experiment.run`.
    """
    examples = [
        task.read(path, options.of_task) if path else []
        for path in (options.train, options.dev, options.test)
    ]
    data = Data(*examples)
    if options.dev is None:
        data = data._replace(**_held_out(data.train, options.dev_share))
    data = data._replace(train=data.train[: options.limit])
    if not data.train or not data.dev:
        raise ValueError(
            f"{options.train} holds {len(examples[0])} examples: too few to train on "
            "some and hold out others."
        )
    return data


def _held_out(examples, share):
    """Moves a few long runs of neighbours, spread over the file, to dev."""
    size = max(1, round(len(examples) * share / HELD_OUT_RUNS))
    block = np.arange(len(examples)) // size
    is_dev = np.floor((block + 1) * share) > np.floor(block * share)
    return {
        name: [example for example, d in zip(examples, is_dev) if d == wanted]
        for name, wanted in (("train", False), ("dev", True))
    }
