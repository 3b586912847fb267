"""Downloads from a server that fails: what is kept, what is said, what is tried again."""

import hashlib
import os
import random
import resource
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from elmo_keras.hub import download
from elmo_keras.hub.catalogue import RemoteFile
from elmo_keras.hub.download import BLOCK, download_file
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
WEIGHTS = random.Random(0).randbytes(5 * BLOCK + 700)
HALF = 2 * BLOCK  # as whole blocks are kept


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
    ("answers", "asked"),
    [
        ([], [0]),
        ([in_pieces(7000)], [0]),
        ([cut_after(HALF)], [0, HALF]),
        ([reset_after(HALF)], [0, HALF]),
        ([cut_after(3)], [0, 0]),
        ([cut_after(HALF), cut_after(BLOCK)], [0, HALF, HALF + BLOCK]),
        ([cut_after(HALF)] + 2 * [status(503)], [0] + 3 * [HALF]),
        ([cut_after(HALF, ranges=False), cut_after(None, ranges=False)], [0, HALF]),
        ([cut_after(HALF, modified="")], [0, HALF]),
        ([cut_after(HALF), status(416)], [0, HALF, 0]),
        ([status(429), status(500)], [0, 0, 0]),
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
        patch.setattr(download, "TIMEOUTS", (1.0, 0.05))
        server.fail(PATH, *9 * [silent_after(0)])
        with pytest.raises(ConnectionError, match="Read timed out"):
            get()
    monkeypatch.setattr(download, "TIMEOUTS", (1.0, 1.0))
    server.fail(PATH, silent_after(HALF))
    assert get().read_bytes() == WEIGHTS
    assert set(server.firsts(PATH)) == {0, HALF}


def test_a_file_that_changed_on_the_server_is_downloaded_from_its_start(server, get):
    server.files[PATH] = WEIGHTS[::-1]
    server.fail(PATH, sends(WEIGHTS, cut=HALF))
    assert get().read_bytes() == WEIGHTS[::-1]
    assert server.firsts(PATH) == [0, HALF]


def test_a_download_that_was_killed_at_its_end_is_not_repeated(server, get):
    path = get()
    path.rename(path.with_name(f"{path.name}.part"))
    server.files[PATH] = WEIGHTS
    assert get().read_bytes() == WEIGHTS
    assert server.firsts(PATH) == [0, len(WEIGHTS)]


@pytest.mark.parametrize("answer", [in_pieces(2**16), sends(None)])
@pytest.mark.parametrize(
    ("name", "size", "limit"),
    [("options.json", None, 2**20), ("a.zip", 200_000, 200_000)],
)
def test_a_server_may_send_a_bounded_number_of_bytes(
    answer, name, size, limit, *, server, cache
):
    server.files["/file"] = b"{" + bytes(2**24)
    server.fail("/file", answer)
    file = RemoteFile(f"{server.address}/file", name, size=size)
    with pytest.raises(ValueError, match=f"at most {limit:,} bytes"):
        download_file(file, cache / "model")
    assert contents(cache / "model") == {}


PAGE = b"<!DOCTYPE html><title>Sign in</title><p>Please sign in first</p>"


@pytest.mark.parametrize(
    ("answer", "error", "message", "kept"),
    [
        (status(404), ConnectionError, "404 Client Error: Not Found", 0),
        (status(403), ConnectionError, "403 Client Error: Forbidden", 0),
        (status(500), ConnectionError, "the server answered 500", 0),
        (cut_after(HALF, ranges=False), ConnectionError, "IncompleteRead", HALF),
        (reset_after(0), ConnectionError, "Connection reset", 0),
        (status(302, Location="ftp://a/b"), ConnectionError, "adapters .* 'ftp:", 0),
        (status(302, Location=PATH), ConnectionError, "Exceeded 30 redirects", 0),
        (sends(PAGE), ValueError, "a web page .*'Sign in Please sign in first'", 0),
        (sends(b""), ValueError, "it is empty", 0),
    ],
)
def test_a_download_that_fails_says_what_to_do(
    answer, error, message, kept, *, server, get, cache
):
    server.fail(PATH, *40 * [answer])
    with pytest.raises(error, match=message) as raised:
        get()
    target = cache / "model" / "weights.hdf5"
    text = f"Download {server.address}{PATH} by hand to {target}"
    assert text in str(raised.value) and "\n" not in str(raised.value)
    part = contents(cache / "model").get("weights.hdf5.part", b"")
    assert part == WEIGHTS[:kept] and not target.exists()


def test_a_server_that_can_not_be_reached_is_said(cache):
    with pytest.raises(ConnectionError, match="downloaded: .* refused"):
        download_file(RemoteFile("http://127.0.0.1:1/x", "x.hdf5"), cache / "model")


def test_redirects_are_followed_but_not_away_from_https(server, get):
    server.files["/elsewhere"] = WEIGHTS
    server.fail(PATH, status(302, Location="/elsewhere"))
    assert get().read_bytes() == WEIGHTS
    for target, message in ("http://host", "http://host, which is not"), ("/b", None):
        response = SimpleNamespace(
            url="https://host/a", is_redirect=True, headers={"Location": target}
        )
        if message is None:
            download._check_redirect(response)
            continue
        with pytest.raises(OSError, match=message):
            download._check_redirect(response)


def test_an_archive_that_a_server_calls_encoded_stays_packed(server, get):
    server.headers[PATH] = {"Content-Encoding": "gzip"}
    assert get().read_bytes() == WEIGHTS


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"checksum": "sha1:0123"}, "SHA1 hash .* expected sha1:0123 but got"),
        ({"checksum": "md5:0123"}, "MD5 hash .* expected md5:0123"),
        ({"size": 10**6}, "it should have 1,000,000 bytes. It has "),
    ],
)
def test_what_the_publisher_states_is_checked(stated, message, get, cache):
    with pytest.raises(ValueError, match=message):
        get(**stated)
    assert contents(cache / "model") == {}
    checksum = f"sha256:{hashlib.sha256(WEIGHTS).hexdigest()}"
    assert get(checksum=checksum, size=len(WEIGHTS)).read_bytes() == WEIGHTS


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
    part = cache / "model" / "weights.hdf5.part"

    def interrupt():
        wait_until(lambda: part.exists() and part.stat().st_size == HALF)
        os.kill(os.getpid(), signal.SIGINT)

    server.fail(PATH, silent_after(HALF, interrupt))
    with pytest.raises(KeyboardInterrupt):
        get()
    assert part.read_bytes() == WEIGHTS[:HALF]
    assert get().read_bytes() == WEIGHTS
    assert server.firsts(PATH) == [0, HALF]


def test_a_disk_that_is_full_or_can_not_be_written_is_said(
    server, get, cache, monkeypatch
):
    cache.write_text("")
    with pytest.raises(NotADirectoryError, match="ELMO_KERAS_CACHE names another"):
        get()
    cache.unlink()
    usage = download.shutil.disk_usage(cache.parent)._replace(free=9)
    with monkeypatch.context() as patch:
        patch.setattr(download.shutil, "disk_usage", lambda _: usage)
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
