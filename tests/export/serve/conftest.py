"""A version of the stand-in for tests that don't change it."""

import pytest

from export.serve.servable import Servable
from tests.support import stand_in


@pytest.fixture(scope="session")
def servable(tmp_path_factory):
    servable = Servable(stand_in.save(tmp_path_factory.mktemp("model")) / "1")
    yield servable
    servable.close()
