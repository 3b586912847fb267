"""Downloads are checked and reported, and a broken one starts again."""

import hashlib
import random
from types import SimpleNamespace

import pytest

from elmo_keras.hub import local_files
from elmo_keras.hub.catalogue import RemoteFile
from elmo_keras.hub.local_files import CHUNK, download_file

PATH = "/weights.hdf5"
WEIGHTS = random.Random(0).randbytes(2 * CHUNK + 700)
CHECKSUM = f"sha256:{hashlib.sha256(WEIGHTS).hexdigest()}"


@pytest.fixture
def get(server, cache):
    """Downloads the server's weights to the folder `model` of the cache."""
    server.files[PATH] = WEIGHTS
    weights = RemoteFile(server.address + PATH, "weights.hdf5")
    return lambda **stated: download_file(weights._replace(**stated), cache / "model")


def contents(folder):
    """Name → bytes of the files in a folder, without the lock."""
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name != "lock"}


@pytest.mark.parametrize(
    ("broken", "stated", "error", "message"),
    [
        ({"cuts": {PATH: CHUNK + 1}}, {}, ConnectionError, "could not be downloaded"),
        ({"statuses": {PATH: 403}}, {}, ConnectionError, "403 Client Error: Forbidden"),
        (
            {},
            {"checksum": "sha1:0123"},
            ValueError,
            "its sha1 should be 0123, not [0-9a-f]{40}. Download",
        ),
        ({}, {"size": 10**6}, ValueError, "should have 1,000,000 bytes. It has 131,77"),
        ({}, {"size": CHUNK}, ValueError, "should have at most 65,536 bytes"),
        # A server that doesn't say how much it sends.
        (
            {"headers": {PATH: {"Content-Length": ""}}},
            {"size": CHUNK},
            ValueError,
            "should have at most 65,536 bytes. It has 131,072 or more",
        ),
    ],
)
def test_a_download_that_fails_leaves_nothing_and_the_next_one_is_whole(
    broken, stated, error, message, *, server, get, cache
):
    for name, values in broken.items():
        getattr(server, name).update(values)
    with pytest.raises(error, match=message) as raised:
        get(**stated)
    target = cache / "model" / "weights.hdf5"
    text = f"Download {server.address}{PATH} by hand to {target}"
    assert text in str(raised.value) and "\n" not in str(raised.value)
    assert contents(cache / "model") == {}
    for name in broken:
        getattr(server, name).clear()
    for _ in range(2):
        assert get(checksum=CHECKSUM, size=len(WEIGHTS)).read_bytes() == WEIGHTS
    assert contents(cache / "model") == {"weights.hdf5": WEIGHTS}
    assert server.requests == [PATH, PATH]


def test_the_size_of_options_is_bounded(server, cache):
    server.files["/options.json"] = bytes(2**20 + 1)
    file = RemoteFile(f"{server.address}/options.json", "options.json")
    with pytest.raises(ValueError, match="at most 1,048,576 bytes. It has 1,048,577"):
        download_file(file, cache / "model")


def test_offline_a_file_is_read_from_the_cache_or_wanted_by_hand(
    server, get, cache, monkeypatch
):
    monkeypatch.setenv("ELMO_KERAS_OFFLINE", "1")
    with pytest.raises(FileNotFoundError, match="OFFLINE forbids .* by hand to"):
        get()
    path = cache / "model" / "weights.hdf5"
    path.parent.mkdir(parents=True)
    path.write_bytes(WEIGHTS)
    assert get() == path
    assert server.requests == []


def test_a_folder_that_can_not_be_written_is_said(get, cache):
    cache.write_text("")
    with pytest.raises(NotADirectoryError, match="ELMO_KERAS_CACHE names another"):
        get()


def test_a_redirect_away_from_https_is_refused():
    for url, target in (("https://host/a", "/b"), ("http://host/a", "http://host/b")):
        moved = SimpleNamespace(url=url, headers={"Location": target})
        local_files._refuse_less_secure(moved)
    moved = SimpleNamespace(url="https://host/a", headers={"Location": "http://host/b"})
    with pytest.raises(ValueError, match="http://host/b, which is not https"):
        local_files._refuse_less_secure(moved)
