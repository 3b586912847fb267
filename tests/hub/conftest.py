"""A cache of its own for each test, and a server."""

import pytest
from huggingface_hub import constants

from tests.support.file_server import serving


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """The folder of the cache, without any other setting."""
    for name in "MIRROR", "OFFLINE":
        monkeypatch.delenv(f"ELMO_KERAS_{name}", raising=False)
    monkeypatch.setenv("ELMO_KERAS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def hub_cache(tmp_path, monkeypatch):
    """The folder of Hugging Face's cache, without a user's own token."""
    for name in "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN":
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


@pytest.fixture
def server():
    """A server on this machine."""
    with serving() as server:
        yield server


STORE = "/allennlp.s3.amazonaws.com/models/elmo"


@pytest.fixture
def small(mirror, model_directory):
    """A mirror that has a tiny model under the name `small` and at https://host/a."""
    for name in "options.json", "weights.hdf5":
        content = (model_directory / name).read_bytes()
        size = "2x1024_128_2048cnn_1xhighway"
        mirror.files[f"{STORE}/{size}/elmo_{size}_{name}"] = content
        mirror.files[f"/host/a/{name}"] = content
    return mirror


@pytest.fixture
def mirror(server, monkeypatch):
    """The server, as a mirror of everything."""
    monkeypatch.setenv("ELMO_KERAS_MIRROR", f"{server.address}/")
    return server
