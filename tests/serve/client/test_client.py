"""A client embeds a file through a server."""

import json
import re
import sys
from unittest import mock

import grpc
import h5py
import numpy as np
import pytest

from elmo_keras.serve.client import remote
from elmo_keras.serve.client.remote import embed_text
from tests.support import stand_in
from tests.support.commands import command
from tests.support.paths import ROOT

SENTENCES = [
    "a bb ccc".split(),
    [],
    ["한국어", "x"],
    "one two three four five six seven".split(),
    ["a"],
    "a bb ccc".split(),
]


@pytest.fixture
def address(server):
    return f"localhost:{server.port}"


@pytest.fixture
def embed(address):
    return lambda *arguments: command("client")(["--server", address, *arguments])


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "TEXT"
    path.write_text("".join(f"{' '.join(s)}\n" for s in SENTENCES), encoding="utf-8")
    return path


@pytest.mark.parametrize("batch_tokens", [1, 8])
def test_vectors_have_the_order_of_the_sentences(
    address, monkeypatch, capsys, batch_tokens
):
    monkeypatch.setattr(remote, "BATCH_TOKENS", batch_tokens)
    monkeypatch.setattr("elmo_keras.base.progress.BETWEEN_LINES", 0)
    arrays = embed_text(SENTENCES, address, progress=True)
    for sentence, array in zip(SENTENCES, arrays, strict=True):
        assert array.shape == (len(sentence), 3)
        np.testing.assert_array_equal(array, stand_in.vectors(sentence))
    n = f"{len(SENTENCES)}.00"
    assert f"{n}/{n}" in capsys.readouterr().err


def test_any_output_can_be_requested(address):
    layers = list(embed_text(SENTENCES, address, output="layers"))
    assert [a.shape for a in layers] == [(2, len(s), 3) for s in SENTENCES]
    means = list(embed_text(SENTENCES, address, output="default"))
    np.testing.assert_allclose(means[0], stand_in.vectors(SENTENCES[0]).mean(axis=0))
    shapes = [a.shape[0] for a in embed_text("It's.", address, tokenizer="words")]
    assert shapes == [3]
    with pytest.raises(ValueError, match="no vectors"):
        list(embed_text(SENTENCES, address, output="sequence_len"))


def test_the_client_of_the_guide_gets_vectors(address):
    page = (ROOT / "docs/pages/how-to/serve.md").read_text(encoding="utf-8")
    (client,) = re.findall(r"```python\n(.*?)```", page, re.S)
    names = {}
    exec(client.replace("localhost:8500", address), names)
    names["channel"].close()
    sentence = "A sentence of tokens".split()
    np.testing.assert_array_equal(names["vectors"], [stand_in.vectors(sentence)])


def test_a_busy_server_is_retried_after_growing_pauses(monkeypatch):
    pauses = []
    monkeypatch.setattr(remote.time, "sleep", pauses.append)
    monkeypatch.setattr(remote.random, "uniform", lambda low, high: 1.0)
    for code in (*remote.RETRIED, grpc.StatusCode.INVALID_ARGUMENT):
        error = grpc.RpcError()
        error.code = lambda code=code: code
        pauses.clear()
        if code in remote.RETRIED:
            call = mock.Mock(side_effect=[error] * 3 + ["answer"])
            assert remote.retry(call) == "answer" and pauses == [0.1, 0.2, 0.4]
        call = mock.Mock(side_effect=error)
        with pytest.raises(grpc.RpcError):
            remote.retry(call)
        assert call.call_count == (6 if code in remote.RETRIED else 1)


def test_an_hdf5_file_has_the_layout_of_allennlp(
    embed, text, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    output = tmp_path / "out.hdf5"
    assert embed(text, output) == 0
    with h5py.File(output) as file:
        index = json.loads(file["sentence_to_index"][0])
        assert len(file) == len(SENTENCES) + 1
        for i, sentence in enumerate(SENTENCES):
            np.testing.assert_array_equal(file[str(i)], stand_in.vectors(sentence))
    assert index == {
        "a bb ccc": "5",
        "": "1",
        "한국어 x": "2",
        "one two three four five six seven": "3",
        "a": "4",
    }
    assert "6.00/6.00" in capsys.readouterr().err
    assert embed(text, tmp_path / "out.NPY") == 0
    sums = [stand_in.vectors(s).sum(axis=0, initial=0) for s in SENTENCES]
    means = [x / max(len(s), 1) for x, s in zip(sums, SENTENCES)]
    np.testing.assert_allclose(np.load(tmp_path / "out.NPY"), means, rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["TEXT", "TEXT.npy"], "exists already"),
        (["LATIN", "out.npy"], "Line 2"),
        (["EMPTY", "out.npy"], "no sentence"),
        (["TEXT", "out.npy", "--output", "elmo"], "one vector a sentence"),
        (["TEXT", "out.npy", "--model", "other"], "NOT_FOUND"),
        (["TEXT", "out.npy", "--server", "http://a:1"], "should be HOST:PORT of gRPC"),
    ],
)
def test_an_error_leaves_no_file(
    address, text, tmp_path, error_of, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "TEXT.npy").write_bytes(b"")
    (tmp_path / "LATIN").write_bytes(b"a\n\xff\n")
    (tmp_path / "EMPTY").write_bytes(b"")
    before = sorted(tmp_path.iterdir())
    if "--server" not in arguments:
        arguments = [*arguments, "--server", address]
    assert message in error_of(command("client"), arguments)
    assert sorted(tmp_path.iterdir()) == before


def test_a_missing_server_is_an_error_with_status_1(
    text, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(remote, "FIRST_PAUSE", 0)
    with stand_in.serving(stand_in.save(tmp_path)) as gone:
        address = f"localhost:{gone.port}"
    arguments = [str(text), str(tmp_path / "o.npy"), "--server", address]
    assert command("client")(arguments) == 1
    assert "should be the port of gRPC" in capsys.readouterr().err
