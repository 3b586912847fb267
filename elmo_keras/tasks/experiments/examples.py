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
        text = json.dumps(self, ensure_ascii=False).encode()
        return hashlib.sha256(text).hexdigest()[:16]


def read_data(task: Task, options: ExperimentOptions) -> Data:
    train, dev, test = (
        task.read(path, options.of_task) if path else []
        for path in (options.train, options.dev, options.test)
    )
    n_examples = len(train)
    if options.dev is None:
        train, dev = _held_out(train, options.dev_share)
    train = train[: options.limit]
    if not train or not dev:
        raise ValueError(
            f"{options.train} holds {n_examples} examples: too few to train on some "
            "and hold out others."
        )
    return Data(train, dev, test)


def _held_out(examples, share):
    """Moves a few long runs of neighbours, spread over the file, to dev."""
    size = max(1, round(len(examples) * share / HELD_OUT_RUNS))
    block = np.arange(len(examples)) // size
    is_dev = np.floor((block + 1) * share) > np.floor(block * share)
    train = [example for example, held_out in zip(examples, is_dev) if not held_out]
    return train, [example for example, held_out in zip(examples, is_dev) if held_out]


def random_share(examples: list[dict], share: float, seed: int) -> list[dict]:
    n = max(1, round(share * len(examples)))
    rows = np.random.default_rng(seed).permutation(len(examples))[:n]
    return [examples[i] for i in sorted(rows)]
