"""Files for the readers, and heads that the tests of a session share."""

import keras
import pytest

from tests.support.heads import make_head


@pytest.fixture(scope="session")
def head(model_directory, tmp_path_factory):
    """Makes the folder of a head of a kind, once."""
    made = {}

    def find(kind, elmo_at="input", **options):
        key = kind, elmo_at, str(options)
        if key not in made:
            folder = tmp_path_factory.mktemp("heads")
            made[key] = make_head(kind, model_directory, folder, elmo_at, **options)
        return made[key]

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
