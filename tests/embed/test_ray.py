"""Vectors by a real Ray cluster on this machine, whose processes are killed."""

import contextlib
import json
import os
import signal
import socket
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elmo_keras import Embedder, embed_corpus
from elmo_keras.commands.command import CommandFailed
from elmo_keras.jobs.parts import folder_of
from tests.support import embedding_runs as runs
from tests.support.processes import descendants, title

ray = pytest.importorskip("ray", reason="needs the extra ray")

from elmo_keras.embed import ray as on_ray  # noqa: E402

# Ray's own, of many kinds.
pytestmark = [pytest.mark.journey, pytest.mark.filterwarnings("ignore")]

LINES = [f"line {i} has w{i % 7} " + "more " * (i % 5) for i in range(60)]
CHOICE = {"layers": "top", "pooling": "mean", "tokens_at_once": 64}
AT_WORK = "ray::embed_piece"


@pytest.fixture(scope="module")
def cluster():
    with on_ray.connected("local"):
        yield


@pytest.fixture(scope="module")
def lite(lite_file):
    """A model without TensorFlow, whose import in each process takes seconds."""
    return lite_file("float32")


@pytest.fixture
def job(cluster, lite, tmp_path):
    """Runs a job over `text.txt` into `out`."""
    (tmp_path / "text.txt").write_text("\n".join(LINES))
    embedder = Embedder(lite, **CHOICE, lazy=True)

    def run(inputs=tmp_path / "text.txt", **options):
        options = {"part_bytes": 150} | options
        return on_ray.embed_on_ray(embedder, inputs, tmp_path / "out", **options)

    return run


@pytest.fixture
def output(tmp_path):
    return tmp_path / "out"


def rows(folder):
    return pq.read_table(folder).to_pydict()


def after(output, n_parts):
    """Ends a job as soon as it has N parts."""
    return lambda: runs.n_parts(output) >= n_parts


def at_work(pid):
    return [other for other in descendants(pid) if AT_WORK in title(other)]


def check_as_one_file(output, text, model):
    path = text.with_suffix(".parquet")
    embed_corpus(Embedder(model, **CHOICE), text, path)
    actual, expected = map(pq.read_table, (output, path))
    assert actual.schema.equals(expected.schema)
    for name in "id", "text":
        assert actual[name].equals(expected[name])
    vectors = (np.stack(table["vector"].to_numpy()) for table in (actual, expected))
    np.testing.assert_allclose(*vectors, atol=1e-6)
    parts = sorted(output.iterdir())
    metadata = (pq.read_schema(p).metadata[b"elmo_keras"] for p in (parts[0], path))
    assert len({json.dumps(json.loads(m), sort_keys=True) for m in metadata}) == 1
    assert not folder_of(output).exists()


def test_rows_and_metadata_are_those_of_one_file(job, lite, output, monkeypatch):
    pulled, split = [], on_ray.split_pieces

    def counting(*arguments):
        for piece in split(*arguments):
            pulled.append(len(pulled) - runs.n_parts(output))
            yield piece

    monkeypatch.setattr(on_ray, "split_pieces", counting)
    summary = job(workers=2)
    check_as_one_file(output, output.with_name("text.txt"), lite)
    n_tokens = sum(len(line.split()) for line in LINES)
    assert summary.finished and summary.tokens == summary.tokens_now == n_tokens
    assert summary.sentences == 60 and len(pulled) > 3
    assert max(pulled) <= 2, "the text is read as it is needed"
    with pytest.raises(ValueError, match="out exists"):
        job()


def test_rows_have_the_ids_of_the_user(job, tmp_path, output):
    columns = {"said": LINES[:3], "key": ["b", "a", "c"]}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    job(tmp_path / "rows.parquet", text_column="said", id_column="key", part_bytes=9)
    out = rows(output)
    assert list(out) == ["id", "number", "text", "vector"]
    assert out["id"] == ["b", "a", "c"] and out["number"] == [0, 1, 2]


def test_killed_workers_change_no_row(job, lite, tmp_path, output, monkeypatch):
    monkeypatch.setattr(on_ray, "BETWEEN_CHECKS", 0.01)
    text, killed = tmp_path / "long.txt", []
    text.write_text("\n".join(runs.text_of(8_000, seed=1)))

    def kill():
        # Never waits: a worker gets its next piece only after this has returned.
        if len(killed) < 3 and runs.n_parts(output) > 3 * len(killed):
            for pid in at_work(os.getpid())[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    assert job(text, part_bytes=2**13, stop=kill).finished and len(killed) == 3
    check_as_one_file(output, text, lite)


def test_a_job_whose_process_always_ends_fails_and_resumes(job, output, monkeypatch):
    def kill():
        for pid in at_work(os.getpid()):
            os.kill(pid, signal.SIGKILL)

    with monkeypatch.context() as patch:
        patch.setattr(on_ray, "MAX_RETRIES", 0)
        patch.setattr(on_ray, "BETWEEN_CHECKS", 0.01)
        with pytest.raises(CommandFailed, match="1 times, and its process ended each"):
            job(part_bytes=2**20, stop=kill)
    assert job().finished and rows(output)["id"] == list(range(60))


def test_a_stopped_job_resumes_with_the_parts_that_are_missing(job, output):
    first = job(stop=after(output, 2))
    assert not first.finished and not output.exists()
    n_parts = runs.n_parts(output)
    min(folder_of(output).glob("parts/*")).write_bytes(b"PAR1 and no more")
    second = job()
    assert second.finished and second.sentences == 60 and n_parts >= 2
    assert 0 < second.tokens_now < second.tokens
    assert rows(output)["id"] == list(range(60))
    again = job(overwrite=True)
    assert again.tokens_now == again.tokens and rows(output)["id"][-1] == 59


def test_other_columns_or_parts_are_another_job(job, output):
    job(stop=after(output, 2))
    others = {"part_bytes": 151, "id_column": "key", "forget_sentences": True}
    names = {"part_bytes": "piece_bytes", "forget_sentences": "texts"}
    for name, other in others.items():
        with pytest.raises(ValueError, match=f"made with {names.get(name, name)}"):
            job(**{name: other})


def test_an_address_at_which_nobody_listens_is_refused(monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{other.getsockname()[1]}"
        refused = pytest.raises(ConnectionError, match=f"Ray cluster at {address}")
        with refused, on_ray.connected(address):
            pass
    slow = mock.Mock(side_effect=Exception("timed out"))  # as Ray raises it
    monkeypatch.setattr(ray, "init", slow)
    with pytest.raises(ConnectionError, match="at local. timed out"):
        on_ray._connect("local")


@pytest.mark.parametrize(
    ("machines", "workers", "expected"),
    [
        ([(2, 0)], 3, (3, 1, 0)),
        ([(16, 0), (16, 0)], 8, (8, 4, 0)),
        ([(16, 0), (16, 0)], 1, (1, 16, 0)),  # a part is computed on one machine
        ([(0, 0), (4, 0)], None, (4, 1, 0)),
        ([(8, 1), (8, 1)], 4, (4, 1, 0.5)),
        ([(0, 0)], 2, None),
    ],
)
def test_workers_share_what_there_is(monkeypatch, machines, workers, expected):
    nodes = [
        {"Alive": True, "Resources": {"CPU": cpus, "GPU": gpus}}
        for cpus, gpus in machines
    ]
    monkeypatch.setattr(ray, "nodes", lambda: nodes)
    if expected:
        assert on_ray.divide_cluster(workers) == expected
    else:
        with pytest.raises(ValueError, match="no processors"):
            on_ray.divide_cluster(workers)


TEXTS = ["The bank of the river", "", "One"]


@pytest.fixture(scope="module")
def token_embedder(cluster, lite):
    return on_ray.BatchEmbedder(Embedder(lite, layers="all"), "said")


@pytest.fixture(scope="module")
def pooled(cluster, lite):
    choice = {"layers": "top", "pooling": "max", "dtype": "float16"}
    return on_ray.BatchEmbedder(Embedder(lite, **choice, lazy=True))


@pytest.fixture(scope="module")
def layers(lite):
    return Embedder(lite, layers="all")(TEXTS)


def test_a_table_gets_lists_and_a_dictionary_arrays(token_embedder, layers):
    names = ["n", "said", "layer_0", "layer_1", "layer_2"]
    table = token_embedder(pa.table({"n": [1, 2, 3], "said": TEXTS}))
    batch = token_embedder({"n": np.arange(3), "said": np.array(TEXTS, object)})
    assert table.column_names == names == list(batch)
    assert table.schema.field("layer_1").type == pa.list_(pa.list_(pa.float32(), 10))
    for row, expected in enumerate(layers):
        for layer in range(3):
            vectors = np.reshape(table[f"layer_{layer}"][row].as_py(), (-1, 10))
            np.testing.assert_array_equal(vectors, expected[layer])
            np.testing.assert_array_equal(batch[f"layer_{layer}"][row], vectors)
    same = token_embedder({"said": np.array(["one two"] * 2)})["layer_0"]
    assert same.shape == (2,) and same[0].shape == (2, 10)


def test_a_sentence_has_one_vector(pooled, layers):
    expected = [h[2].max(axis=0) if h[2].size else np.zeros(10) for h in layers]
    table = pooled(pa.table({"text": TEXTS}))
    assert table.schema.field("vector").type == pa.list_(pa.float16(), 10)
    np.testing.assert_allclose(table["vector"].to_pylist(), expected, rtol=2e-3)
    vectors = pooled({"text": np.array(TEXTS)})["vector"]
    assert vectors.dtype == np.float16
    np.testing.assert_allclose(vectors, expected, rtol=2e-3)
    none = pooled(pa.table({"text": pa.array([], pa.string())}))
    assert none.schema.field("vector").type == pa.list_(pa.float16(), 10)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({"other": ["a"]}, "text"),
        ({"text": ["a", None]}, "Sentence 1 should be a str"),
        ({"text": ["a"], "vector": [1]}, "already has a column `vector`"),
    ],
)
def test_a_bad_batch_is_refused(pooled, batch, message):
    with pytest.raises((KeyError, TypeError, ValueError), match=message):
        pooled(pa.table(batch))
    with pytest.raises(TypeError, match="should be a table or a dictionary"):
        pooled([batch])
