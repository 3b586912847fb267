"""What an experiment is given: its examples, and vectors of their words."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_keras.tasks.experiments.experiment_arguments import (
    WORD_DIM,
    ExperimentOptions,
)
from elmo_keras.tasks.experiments.task import Task
from elmo_keras.tasks.readers.word_vector_file import read_lower_case_vectors

HELD_OUT_RUNS = 4  # of neighbouring examples, often from one document


class Data(NamedTuple):
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


class GivenWords(NamedTuple):
    """Words of the examples, in lower case, with their vectors from a file, if one is given."""

    dim: int
    words: tuple[str, ...] = ()
    vectors: np.ndarray | None = None

    @property
    def settings(self) -> dict[str, int | str | None]:
        digest = None
        if self.words:
            content = "\n".join(self.words).encode() + self.vectors.tobytes()
            digest = hashlib.sha256(content).hexdigest()[:16]
        return {"word_dim": self.dim, "word_vectors": digest}


def read_given_words(
    path: Path | None, sentences: Sequence[Sequence[str]], word_dim: int | None
) -> GivenWords:
    """The words of sentences in the file of --word-vectors; prints how many there are."""
    if path is None:
        return GivenWords(WORD_DIM if word_dim is None else word_dim)
    words, vectors = read_lower_case_vectors(path, sentences)
    dim = vectors.shape[1]
    if word_dim not in (None, dim):
        raise ValueError(
            f"The vectors of {path} have {dim} dimensions, but --word-dim is "
            f"{word_dim}. Leave --word-dim out."
        )
    n_words = len({token.lower() for tokens in sentences for token in tokens})
    if not words:
        raise ValueError(
            f"{path} has none of the {n_words:,} words of the examples. Give vectors "
            "of words in the language of the examples."
        )
    print(f"{len(words):,} of {n_words:,} words have a vector in {path}", flush=True)
    return GivenWords(dim, words, vectors)
