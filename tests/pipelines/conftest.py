"""Heads that the tests of a module share."""

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
