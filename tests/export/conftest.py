"""The export of all tests that don't change it, loaded in the ways that serve it."""

import pytest
import tensorflow as tf

from tests.support.exported import session_of


@pytest.fixture(scope="module")
def loaded(exported_version):
    """The export as TensorFlow 2 loads it."""
    return tf.saved_model.load(str(exported_version))


@pytest.fixture(scope="session")
def session(exported_version):
    with session_of(exported_version) as run:
        yield run
