"""The export of all tests that don't change it, loaded in the ways that serve it."""

import pytest
import tensorflow as tf

from tests.support import stand_in
from tests.support.exported import session_of


@pytest.fixture(scope="module")
def loaded(exported_version):
    """The export as TensorFlow 2 loads it."""
    return tf.saved_model.load(str(exported_version))


@pytest.fixture(scope="session")
def session(exported_version):
    with session_of(exported_version) as run:
        yield run


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server of version 7 of the stand-in, for tests that leave it as it is."""
    directory = stand_in.save(tmp_path_factory.mktemp("model"), 7)
    with stand_in.serving(directory, num_batch_threads=2) as running:
        yield running


@pytest.fixture(scope="module")
def stub(server):
    with stand_in.asking(server) as asked:
        yield asked
