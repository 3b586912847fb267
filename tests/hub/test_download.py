"""Downloads from a server that fails: what is kept, what is said, what is tried again."""

import gzip
import io
import json
import os
import resource
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import h5py
import numpy as np
import pytest

from elmo_keras.hub import transfer
from elmo_keras.hub.cache import RECORDS, source
from elmo_keras.hub.catalogue import RemoteFile
from elmo_keras.hub.download import fetch
from tests.support.file_server import (
    cut_after,
    in_pieces,
    reset_after,
    sends,
    serve,
    silent_after,
    status,
)
from tests.support.waiting import wait_until

PATH = "/weights.hdf5"


def hdf5(seed=0, **kwargs):
    """The bytes of an HDF5 file."""
    file = io.BytesIO()
    with h5py.File(file, "w", **kwargs) as content:
        content["x"] = np.random.default_rng(seed).random(20_000, np.float32)
    return file.getvalue()


WEIGHTS = hdf5()
HALF = len(WEIGHTS) // 2


@pytest.fixture
def get(server, cache):
    """Fetches the server's weights to the folder `model` of the cache."""
    server.files[PATH] = WEIGHTS
    weights = RemoteFile(server.address + PATH, "weights.hdf5")
    return lambda **stated: fetch(weights._replace(**stated), cache / "model")


def contents(folder):
    """Name → bytes of the files in a folder, without the records and the lock."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    return {n: c for n, c in files.items() if n not in ("lock", ".downloads.json")}


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ([], [0]),
        ([in_pieces(7)], [0]),
        ([cut_after(HALF)], [0, HALF]),
        ([reset_after(HALF)], [0, HALF]),
        ([cut_after(3)], [0, 0]),
        ([cut_after(HALF), cut_after(1000)], [0, HALF, HALF + 1000]),
        ([cut_after(HALF)] + 4 * [status(503)], [0] + 5 * [HALF]),
        ([cut_after(HALF, ranges=False), cut_after(None, ranges=False)], [0, HALF]),
        ([cut_after(HALF, tag="")], [0, 0]),
        ([cut_after(HALF, tag='W/"weak"')], [0, 0]),
        ([cut_after(None, announced=len(WEIGHTS) + 9)], [0, len(WEIGHTS)]),
        ([cut_after(HALF), status(416)], [0, HALF, 0]),
        ([cut_after(HALF), cut_after(None, shift=9)], [0, HALF, 0]),
        ([status(429), status(500), status(502)], [0, 0, 0, 0]),
    ],
)
def test_a_download_survives_faults(answers, asked, server, get):
    server.fail(PATH, *answers)
    assert contents(get().parent) == {"weights.hdf5": WEIGHTS}
    assert server.firsts(PATH) == asked


def test_a_server_that_falls_silent_is_asked_again_or_given_up(
    server, get, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(transfer, "TIMEOUT", 0.05)
        patch.setattr(transfer, "ATTEMPTS", 2)
        server.fail(PATH, *9 * [silent_after(0)])
        with pytest.raises(ConnectionError, match="sent nothing for 0.05 seconds"):
            get()
    monkeypatch.setattr(transfer, "TIMEOUT", 1.0)
    server.fail(PATH, silent_after(HALF))
    assert get().read_bytes() == WEIGHTS
    assert set(server.firsts(PATH)) == {0, HALF}


def test_a_file_that_changed_on_the_server_is_downloaded_from_its_start(server, get):
    other = hdf5(seed=1)
    server.fail(PATH, cut_after(HALF), sends(other), sends(other))
    server.files[PATH] = other
    server.answers[PATH][0] = sends(WEIGHTS, cut=HALF)
    assert get().read_bytes() == other
    assert server.firsts(PATH) == [0, HALF]


@pytest.mark.parametrize(
    "content",
    ["[1]", '{"weights.hdf5": 3}', '{"weights.hdf5": {"size": 1}}', "[" * 10**5],
)
def test_records_of_another_form_are_ignored(content, get, cache):
    get()
    (cache / "model" / RECORDS).write_text(content)
    assert source(cache / "model") == ""
    assert get().read_bytes() == WEIGHTS


@pytest.mark.parametrize("answer", [in_pieces(2**16), sends(None)])
@pytest.mark.parametrize(
    ("name", "size", "most"),
    [("options.json", None, 2**20), ("a.zip", 200_000, 200_000)],
)
def test_a_server_may_send_so_many_bytes_of_a_kind_of_file(
    answer, name, size, most, *, server, cache
):
    content = b"{" if name.endswith("json") else b"PK\3\4"
    server.files["/file"] = content + bytes(2**24)
    server.fail("/file", answer)
    file = RemoteFile(f"{server.address}/file", name, size=size)
    with pytest.raises(ValueError, match=f"at most {most:,} bytes"):
        fetch(file, cache / "model")
    assert contents(cache / "model") == {}


PAGE = b"<!DOCTYPE html><title>Sign in</title><p>Please sign in first</p>"


@pytest.mark.parametrize(
    ("answer", "error", "message", "kept"),
    [
        (status(404), ConnectionError, "the server answered 404 Not Found", 0),
        (status(403), ConnectionError, "the server answered 403 Forbidden", 0),
        (status(500), ConnectionError, r"500 .*\(5 times in a row\)", 0),
        (cut_after(HALF, ranges=False), ConnectionError, "broke off after", HALF),
        (reset_after(0), ConnectionError, "broke", 0),
        (status(302, Location="ftp://a/b"), ConnectionError, "redirects to ftp", 0),
        (status(302, Location=PATH), ConnectionError, "302", 0),
        (sends(PAGE), ValueError, "a web page .*'Sign in Please sign in first'", 0),
        (sends(b""), ValueError, "an HDF5 file, but it is empty", 0),
        (sends(b"{}"), ValueError, "but it starts with b'{}'", 0),
        (cut_after(HALF, announced=HALF), ValueError, "it ends after", 0),
    ],
)
def test_a_download_that_fails_says_what_to_do(
    answer, error, message, kept, *, server, get, cache
):
    server.fail(PATH, *9 * [answer])
    with pytest.raises(error, match=message) as raised:
        get()
    target = cache / "model" / "weights.hdf5"
    text = f"Download {server.address}{PATH} by hand to {target}"
    assert text in str(raised.value)
    part = contents(cache / "model").get("weights.hdf5.part", b"")
    assert part == WEIGHTS[:kept] and not target.exists()


def test_a_server_that_can_not_be_reached_is_said(cache, server):
    with pytest.raises(ConnectionError, match="the connection broke: .*refused"):
        fetch(RemoteFile("http://127.0.0.1:1/x.hdf5", "x.hdf5"), cache / "model")
    address = RemoteFile("http://nowhere.invalid/x.hdf5", "x.hdf5")
    with pytest.raises(ConnectionError, match="the server can't be reached"):
        fetch(address, cache / "model")


def test_redirects_are_followed_but_not_away_from_https(server, get):
    server.files["/elsewhere"] = WEIGHTS
    server.fail(PATH, status(302, Location="/elsewhere"))
    assert get().read_bytes() == WEIGHTS
    request = transfer.urllib.request.Request("https://host/file")
    with pytest.raises(transfer.TransferFailed, match="http://host, which is not"):
        transfer._Redirects().redirect_request(
            request, io.BytesIO(), 302, "", {}, "http://host"
        )


WHOLE = {
    "weights.hdf5": WEIGHTS,
    "latest.hdf5": hdf5(libver="latest"),
    "a.zip": b"PK\5\6" + bytes(18),  # an empty one
    "a.tar.gz": gzip.compress(os.urandom(3000)),
    "options.json": b'{"lstm": {"dim": 4096}}',
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_length_that_is_too_short_leaves_no_file(name, server, cache):
    content = WHOLE[name]
    server.files["/file"] = content
    server.fail("/file", sends(content[:-5]))
    file = RemoteFile(f"{server.address}/file", name)
    with pytest.raises(ValueError, match="is not the right file: it should be"):
        fetch(file, cache / "model")
    assert contents(cache / "model") == {}
    assert fetch(file, cache / "model").read_bytes() == content


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"checksum": "sha1:0123"}, "its SHA1 should be 0123, as its publisher"),
        ({"checksum": "md5:0123"}, "its MD5 should be 0123"),
        ({"size": 10**6}, "it should have 1,000,000 bytes. Found: "),
    ],
)
def test_what_the_publisher_states_is_checked(stated, message, get, cache):
    with pytest.raises(ValueError, match=message):
        get(**stated)
    assert contents(cache / "model") == {}


def test_a_file_must_stay_what_was_first_downloaded(server, get):
    path = get()
    os.utime(path)
    assert get() == path
    path.write_bytes(hdf5(seed=1))
    with pytest.raises(ValueError, match="first downloaded.* Delete it to download"):
        get()
    path.write_bytes(WEIGHTS[:HALF])
    with pytest.raises(ValueError, match="weights.hdf5 is not what .*it ends after"):
        get()
    assert len(server.requests) == 1
    path.unlink()
    server.fail(PATH, sends(hdf5(seed=1)))
    with pytest.raises(ValueError, match="its SHA-256 was .*if its publisher"):
        get()
    assert not path.exists() and get().read_bytes() == WEIGHTS


def test_offline_a_file_is_read_from_the_cache_or_wanted_by_hand(
    server, get, cache, monkeypatch
):
    monkeypatch.setenv("ELMO_KERAS_OFFLINE", "1")
    with pytest.raises(FileNotFoundError, match="OFFLINE forbids .* by hand to"):
        get()
    path = cache / "model" / "weights.hdf5"
    path.parent.mkdir(parents=True)
    path.write_bytes(PAGE)
    with pytest.raises(ValueError, match="weights.hdf5 is not what .* a web page"):
        get()
    path.write_bytes(WEIGHTS)
    assert get().read_bytes() == WEIGHTS
    assert "weights.hdf5" in json.loads((cache / "model/.downloads.json").read_text())
    assert server.requests == []


def test_several_callers_download_a_file_once(server, get, capsys):
    waiting = threading.Event()

    def answer(handler):
        waiting.wait()
        serve(handler)

    server.fail(PATH, answer)
    with ThreadPoolExecutor(3) as pool:
        paths = [pool.submit(get) for _ in range(3)]
        shown = []

        def both_wait():
            shown.append(capsys.readouterr().err)
            return "".join(shown).count("Waiting for another download") == 2

        wait_until(both_wait)
        waiting.set()
        assert {path.result().read_bytes() for path in paths} == {WEIGHTS}
    assert server.firsts(PATH) == [0]


def test_an_interrupted_download_resumes(server, get, cache, usual_handler):
    def interrupt():
        part = cache / "model" / "weights.hdf5.part"
        wait_until(lambda: part.exists())
        os.kill(os.getpid(), signal.SIGINT)

    server.fail(PATH, silent_after(HALF, interrupt))
    with pytest.raises(KeyboardInterrupt):
        get()
    done = len(contents(cache / "model")["weights.hdf5.part"])
    assert get().read_bytes() == WEIGHTS
    assert server.firsts(PATH) == [0, done]


def test_a_disk_that_is_full_or_can_not_be_written_is_said(
    server, get, cache, monkeypatch
):
    cache.write_text("")
    with pytest.raises(NotADirectoryError, match="ELMO_KERAS_CACHE names another"):
        get()
    cache.unlink()
    usage = transfer.shutil.disk_usage(cache.parent)._replace(free=9)
    with monkeypatch.context() as patch:
        patch.setattr(transfer.shutil, "disk_usage", lambda _: usage)
        with pytest.raises(OSError, match=r"8\d,\d+ bytes are needed, and 9 are free"):
            get()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (HALF, limits[1]))
    try:
        with pytest.raises(OSError, match="ELMO_KERAS_CACHE names .* the same call"):
            get()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert get().read_bytes() == WEIGHTS  # what was downloaded was kept
    assert server.firsts(PATH)[-2:] == [0, HALF]
