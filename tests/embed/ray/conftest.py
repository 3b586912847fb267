"""Shared by the tests of jobs on Ray, most of which need no Ray."""

import pytest

from elmo_keras.embed.on_ray.piece_worker import SUFFIX, PieceWorker, note_of
from elmo_keras.embed.parts import Parts
from tests.support.stand_in_ray import StandInRay

SIZES = {"tokens_at_once": 64, "cache_bytes": 2**20}


@pytest.fixture
def folder(tmp_path):
    """The folder of a job that is about to begin."""
    folder = Parts(tmp_path / "out", SUFFIX, note_of)
    folder.path.mkdir()
    return folder


@pytest.fixture(scope="module")
def settings(model_directory):
    """Arguments of `Embedder`."""
    return {"model": str(model_directory), "layers": "top", "pooling": "mean"} | SIZES


@pytest.fixture(scope="module")
def loaded(settings, tmp_path_factory):
    """A worker that has read the model."""
    worker = PieceWorker(tmp_path_factory.mktemp("none") / "out", settings, texts=True)
    worker.identity()
    return worker


@pytest.fixture
def ray(monkeypatch):
    """A Ray whose actors work in this process."""
    ray = StandInRay()
    ray.install(monkeypatch)
    return ray


@pytest.fixture
def worker(loaded, folder):
    """The same worker in the folder of a job that has begun."""
    folder.open(loaded.identity())
    loaded._parts = folder
    return loaded
