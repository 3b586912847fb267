"""A server that all tests that leave it as it is share."""

import pytest

from tests.support import stand_in


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
