"""A file embedded through a server."""

import json
import subprocess
import sys
import threading

import grpc
import h5py
import numpy as np
import pytest
import stand_in
from conftest import ROOT

from export import client, remote
from export.remote import batches_by_length, embed_text

SENTENCES = [
    "a bb ccc".split(),
    [],
    ["한국어", "x"],
    "one two three four five six seven".split(),
    ["a"],
    "a bb ccc".split(),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    directory = stand_in.save(tmp_path_factory.mktemp("model"))
    with stand_in.serving(directory) as running:
        yield running


@pytest.fixture
def address(server):
    return f"localhost:{server.port}"


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("".join(f"{' '.join(s)}\n" for s in SENTENCES), encoding="utf-8")
    return path


@pytest.mark.parametrize("batch_tokens", [1, 8, 2048])
def test_vectors_come_in_the_order_of_the_sentences(address, batch_tokens):
    done = []
    found = embed_text(
        SENTENCES, address, batch_tokens=batch_tokens, progress=done.append
    )
    for sentence, array in zip(SENTENCES, found, strict=True):
        assert array.shape == (len(sentence), 3)
        np.testing.assert_array_equal(array, stand_in.vectors(sentence))
    assert sum(done) == len(SENTENCES)


def test_any_output_can_be_asked_for(address):
    layers = list(embed_text(SENTENCES, address, output="layers"))
    assert [a.shape for a in layers] == [(2, len(s), 3) for s in SENTENCES]
    means = list(embed_text(SENTENCES, address, output="default"))
    np.testing.assert_allclose(means[0], stand_in.vectors(SENTENCES[0]).mean(axis=0))
    with pytest.raises(ValueError, match="no vectors"):
        list(embed_text(SENTENCES, address, output="sequence_len"))


def test_batches_hold_like_lengths_and_are_bounded():
    sentences = [["x"] * n for n in (5, 1, 0, 9, 2, 5, 2, 30)]
    batches = batches_by_length(sentences, range(8), batch_tokens=12, batch_size=3)
    assert batches == [[2, 1, 4], [6, 0], [5], [3], [7]]


class Busy:
    """A method of a stub that refuses some times before it answers."""

    def __init__(self, code, times):
        self.code, self.times, self.calls = code, times, 0

    def __call__(self):
        self.calls += 1
        if self.calls <= self.times:
            error = grpc.RpcError()
            error.code = lambda: self.code
            raise error
        return "answer"


@pytest.mark.parametrize("code", remote.WORTH_ANOTHER_TRY)
def test_a_busy_server_is_asked_again_after_longer_and_longer_pauses(code, monkeypatch):
    pauses = []
    monkeypatch.setattr(remote.time, "sleep", pauses.append)
    monkeypatch.setattr(remote.random, "uniform", lambda low, high: 1.0)
    assert remote._patiently(Busy(code, 3), retries=3) == "answer"
    assert pauses == [0.1, 0.2, 0.4]
    busy = Busy(code, 9)
    with pytest.raises(grpc.RpcError):
        remote._patiently(busy, retries=2)
    assert busy.calls == 3


def test_a_refused_request_is_not_made_again():
    refusing = Busy(grpc.StatusCode.INVALID_ARGUMENT, 1)
    with pytest.raises(grpc.RpcError):
        remote._patiently(refusing, retries=5)
    assert refusing.calls == 1


def test_a_file_becomes_hdf5_in_the_layout_of_allennlp(address, text, tmp_path, capsys):
    output = tmp_path / "out.hdf5"
    assert client.main([str(text), str(output), "--server", address]) == 0
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
    assert "6/6" in capsys.readouterr().out


def test_a_file_becomes_one_vector_a_sentence(address, text, tmp_path):
    output = tmp_path / "out.npy"
    assert client.main([str(text), str(output), "--server", address]) == 0
    found = np.load(output)
    expected = [
        stand_in.vectors(s).sum(axis=0, initial=0) / max(len(s), 1) for s in SENTENCES
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.txt", "out.npy"], "missing.txt"),
        (["TEXT", "out.txt"], "should end in .hdf5 or .npy"),
        (["TEXT", "TEXT.npy"], "is there already"),
        (["LATIN", "out.npy"], "Line 2"),
        (["EMPTY", "out.npy"], "no sentence"),
        (["TEXT", "out.npy", "--output", "elmo"], "one vector a sentence"),
        (["TEXT", "out.npy", "--output", "other"], "INVALID_ARGUMENT"),
        (["TEXT", "out.npy", "--model", "other"], "NOT_FOUND"),
        (["TEXT", "no/folder/out.npy"], "out.npy"),
    ],
)
def test_what_is_wrong_is_told_in_a_line_and_leaves_no_file(
    address, text, tmp_path, capsys, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "TEXT").write_bytes(text.read_bytes())
    (tmp_path / "TEXT.npy").write_bytes(b"")
    (tmp_path / "LATIN").write_bytes(b"a\n\xff\n")
    (tmp_path / "EMPTY").write_bytes(b"")
    before = sorted(tmp_path.iterdir())
    assert client.main([*arguments, "--server", address]) == 2
    told = capsys.readouterr().err
    assert message in told and told.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_a_server_that_is_not_there_is_told(text, tmp_path, capsys):
    with stand_in.serving(stand_in.save(tmp_path)) as gone:
        address = f"localhost:{gone.port}"
    arguments = [str(text), str(tmp_path / "o.npy"), "--server", address]
    assert client.main([*arguments, "--retries", "0"]) == 1
    assert "UNAVAILABLE" in capsys.readouterr().err


def test_several_clients_at_once_get_their_own_vectors(address):
    wrong = []

    def run(n):
        sentences = [["x" * n] * k for k in range(1, 9)]
        for sentence, array in zip(sentences, embed_text(sentences, address)):
            if not np.array_equal(array, stand_in.vectors(sentence)):
                wrong.append((n, sentence))

    clients = [threading.Thread(target=run, args=(n,)) for n in range(1, 9)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    assert not wrong


@pytest.mark.slow
def test_the_commands_serve_and_embed(text, tmp_path):
    directory = stand_in.save(tmp_path / "models")
    serve = [sys.executable, "-m", "export.serve", directory, "--port=0"]
    with subprocess.Popen(
        [*serve, "--rest-port=0"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as server:
        port = server.stdout.readline().split("gRPC on port ")[1].split(",")[0]
        ask = [sys.executable, "-m", "export.client", text, tmp_path / "out.hdf5"]
        subprocess.run([*ask, "--server", f"localhost:{port}"], cwd=ROOT, check=True)
        server.terminate()
        assert server.wait(20) == 0
    with h5py.File(tmp_path / "out.hdf5") as file:
        assert len(file) == len(SENTENCES) + 1
