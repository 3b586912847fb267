"""What the models of a task learn from: examples, and vectors of their words."""

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from elmo_keras.tasks.readers.word_vector_file import (
    WordVectorFile,
    read_lower_case_vectors,
)
from elmo_keras.tasks.task import Task

HELD_OUT_RUNS = 4  # of neighbouring examples, often from one document
WORD_DIM = 100  # of random vectors


class Data(NamedTuple):
    train: list[dict]
    dev: list[dict]
    test: list[dict]

    @property
    def fingerprint(self) -> str:
        return fingerprint(json.dumps(self, ensure_ascii=False).encode())


def fingerprint(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def read_data(task: Task) -> Data:
    train, dev, test = (
        task.read(path) if path else [] for path in (task.train, task.dev, task.test)
    )
    n_examples = len(train)
    if task.dev is None:
        train, dev = hold_out(train, task.dev_share)
    train = train[: task.limit]
    if not train or not dev:
        raise ValueError(
            f"{task.train} holds {n_examples} examples: too few to train on some "
            "and hold out others."
        )
    return Data(train, dev, test)


def hold_out(examples, share):
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


def read_start_vectors(
    task: Task, sentences: Sequence[Sequence[str]]
) -> WordVectorFile:
    """The vectors of words in the task's file; prints how many words have one."""
    path = task.word_vectors
    if path is None:
        dim = WORD_DIM if task.word_dim is None else task.word_dim
        return WordVectorFile((), np.empty((0, dim)))
    file = read_lower_case_vectors(path, sentences)
    dim = file.vectors.shape[1]
    if task.word_dim not in (None, dim):
        raise ValueError(
            f"The vectors of {path} have {dim} dimensions, but --word-dim is "
            f"{task.word_dim}. Leave --word-dim out."
        )
    n_words = len({token.lower() for tokens in sentences for token in tokens})
    if not file.words:
        raise ValueError(
            f"{path} has none of the {n_words:,} words of the examples. Give vectors "
            "of words in the language of the examples."
        )
    print(
        f"{len(file.words):,} of {n_words:,} words have a vector in {path}", flush=True
    )
    return file
