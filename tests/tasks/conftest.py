"""Files for the readers of tasks."""

import keras
import pytest


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
