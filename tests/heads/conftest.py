"""Files for readers and training, and heads that the tests of a session share."""

import functools
import hashlib

import keras
import numpy as np
import pytest

from tests.support.heads import make_head

WORDS = {"the": "DET", "a": "DET", "cat": "NOUN", "dog": "NOUN", "sees": "VERB"}


@pytest.fixture(scope="session")
def head(model_directory, made_once):
    """The folder of a head of a kind."""

    def find(kind, elmo_at="input", **options):
        name = hashlib.sha1(repr((kind, elmo_at, options)).encode()).hexdigest()
        arguments = kind, model_directory
        make = functools.partial(make_head, *arguments, elmo_at=elmo_at, **options)
        return made_once(f"heads/{name}", make) / kind

    return find


@pytest.fixture
def file(tmp_path):
    """Writes a file with a text and returns its path."""

    def write(text):
        path = tmp_path / "examples"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture(autouse=True)
def seed():
    """The same initial weights and dropout in each run of a test."""
    keras.utils.set_random_seed(0)


@pytest.fixture
def word_classes(conllu):
    """Writes a file of sentences in which each word has one part of speech."""

    def write(name, n, seed):
        rng = np.random.default_rng(seed)
        words = [rng.choice(list(WORDS), rng.integers(1, 6)) for _ in range(n)]
        return conllu(name, [[(word, WORDS[word]) for word in row] for row in words])

    return write


@pytest.fixture
def folder(tmp_path, monkeypatch, word_classes):
    """The current folder, with training and development text."""
    monkeypatch.chdir(tmp_path)
    word_classes("train.conllu", 20, 0)
    word_classes("dev.conllu", 9, 1)
    return tmp_path
