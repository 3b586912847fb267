"""A whole job, whose tasks run in this process."""

import json
import signal
import socket

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elmo_keras import Embedder
from elmo_keras.embed.writers import parquet
from elmo_keras.util.command import CommandFailed
from tests.support import stand_in_ray
from tests.support.commands import command

LINES = [f"line {i} has w{i % 7} " + "more " * (i % 5) for i in range(60)]
SIZE = 150  # bytes of a part
SETTINGS = {"layers": "top", "pooling": "mean", "tokens_at_once": 64}


@pytest.fixture(scope="module")
def module():
    """The stand-in, and the module under test that has imported it."""
    with stand_in_ray.installed() as modules:
        yield modules


@pytest.fixture
def ray(module):
    ray, _ = module
    ray.__init__()
    return ray


@pytest.fixture
def job(module, ray, model_directory, tmp_path):
    """Runs a job over `text.txt` into `out`."""
    source = tmp_path / "text.txt"
    source.write_text("\n".join(LINES))

    def run(inputs=source, **options):
        options = SETTINGS | {"part_bytes": SIZE} | options
        return module[1].embed_on_ray(
            model_directory, inputs, tmp_path / "out", **options
        )

    return run


def rows(folder):
    return pq.read_table(folder).to_pydict()


def n_written(ray):
    return ray.finished.count("write_part")


def test_the_rows_are_those_of_the_text(job, ray, model_directory, tmp_path):
    summary = job()
    out = rows(tmp_path / "out")
    assert out["id"] == list(range(60))
    assert out["text"] == [line.strip() for line in LINES]
    vectors = Embedder(model_directory, **SETTINGS)(LINES)
    np.testing.assert_allclose(out["vector"], vectors, atol=1e-6)
    n_tokens = sum(len(line.split()) for line in LINES)
    assert summary.finished and summary.tokens == summary.tokens_now == n_tokens
    assert summary.sentences == 60 and n_written(ray) > 3
    assert not (tmp_path / "out.unfinished").exists()
    with pytest.raises(ValueError, match="out exists"):
        job()


def test_a_part_has_the_columns_and_metadata_of_one_file(job, embed, tmp_path):
    job(part_bytes=2**20)
    embed(tmp_path / "text.txt", tmp_path / "text.parquet", **SETTINGS)
    paths = tmp_path / "out" / "part-0000000.parquet", tmp_path / "text.parquet"
    part, whole = map(pq.read_table, paths)
    assert part.schema.equals(whole.schema) and part["id"].equals(whole["id"])
    first, second = (
        json.loads(t.schema.metadata[b"elmo_keras"]) for t in (part, whole)
    )
    assert first == second


def test_rows_have_the_ids_of_the_user(job, tmp_path):
    columns = {"said": LINES[:3], "key": ["b", "a", "c"]}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    job(tmp_path / "rows.parquet", text_column="said", id_column="key", part_bytes=9)
    out = rows(tmp_path / "out")
    assert list(out) == ["id", "number", "text", "vector"]
    assert out["id"] == ["b", "a", "c"] and out["number"] == [0, 1, 2]


def test_a_stopped_job_resumes_with_the_parts_that_are_missing(job, ray, tmp_path):
    first = job(stop=lambda: n_written(ray) == 2)
    assert not first.finished and not (tmp_path / "out").exists()
    second = job()
    assert second.finished and second.sentences == 60
    assert second.tokens_now == second.tokens - first.tokens_now
    assert rows(tmp_path / "out")["id"] == list(range(60))
    before = n_written(ray)
    job(overwrite=True)
    assert n_written(ray) == 2 * before and rows(tmp_path / "out")["id"][-1] == 59


@pytest.mark.parametrize("n_ends", [1, 5])
def test_a_part_whose_process_ended_is_written_once(job, ray, tmp_path, n_ends):
    ended = []

    def ends(name, arguments):
        ours = name == "write_part" and arguments[0].index == 1
        return ours and len(ended) < n_ends and not ended.append(1)

    ray.ends = ends
    assert job().finished and len(ended) == n_ends
    assert rows(tmp_path / "out")["id"] == list(range(60))


@pytest.mark.parametrize("name", ["write_part", "describe_vectors"])
def test_a_job_whose_processes_always_end_fails_and_resumes(job, ray, tmp_path, name):
    ray.ends = lambda task, _: task == name and n_written(ray) in (0, 2)
    with pytest.raises(CommandFailed, match="6 times, and its process ended each time"):
        job()
    ray.ends = lambda *_: False
    assert job().finished and rows(tmp_path / "out")["id"] == list(range(60))


@pytest.mark.parametrize("others", [["another", *LINES[1:]], LINES[:20]])
def test_an_unfinished_job_over_other_texts_is_refused_or_overwritten(
    job, ray, tmp_path, others
):
    job(stop=lambda: n_written(ray) == 4)
    (tmp_path / "text.txt").write_text("\n".join(others))
    with pytest.raises(ValueError, match="over other texts"):
        job()
    assert job(overwrite=True).finished
    assert rows(tmp_path / "out")["text"] == [line.strip() for line in others]


def test_other_columns_or_parts_are_another_job(job, ray):
    job(stop=lambda: n_written(ray) == 2)
    others = {"part_bytes": SIZE + 1, "id_column": "key", "forget_sentences": True}
    names = {"part_bytes": "piece_bytes", "forget_sentences": "texts"}
    for name, other in others.items():
        with pytest.raises(ValueError, match=f"made with {names.get(name, name)}"):
            job(**{name: other})


def test_a_bad_line_or_input_keeps_the_parts_before_it(job, ray, tmp_path):
    source, second = tmp_path / "text.txt", tmp_path / "second.txt"
    good = "\n".join(LINES).encode()
    source.write_bytes(good[:-3] + b"\xff")
    second.write_text("the end\n")
    with pytest.raises(ValueError, match=r"text\.txt should be UTF-8\. Line 60"):
        job([source, second])
    before = n_written(ray)
    assert before > 3 and not (tmp_path / "out").exists()
    source.write_bytes(good)
    ray.ends = lambda *_: second.unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError, match=r"second\.txt"):
        job([source, second])
    second.write_text("the end\n")
    ray.ends = lambda *_: False
    assert job([source, second]).sentences == 61
    assert rows(tmp_path / "out")["text"][-1] == "the end"


def test_no_sentences_give_a_folder_that_can_be_read(job, tmp_path):
    (tmp_path / "text.txt").write_text("")
    assert job().sentences == 0
    assert rows(tmp_path / "out") == {"id": [], "text": [], "vector": []}


def test_an_error_names_the_machine_if_there_are_several(job, ray, monkeypatch):
    ray.alive = [stand_in_ray.NODE] * 2

    def full(*_):
        raise OSError(28, "No space left on device", "part")

    monkeypatch.setattr(parquet.Rows, "write", full)
    with pytest.raises(OSError, match=r"device \(on the machine 10") as raised:
        job()
    assert raised.value.errno == 28


def test_a_part_is_not_written_into_another_job(job, ray, tmp_path, monkeypatch):
    path = tmp_path / "out.unfinished" / "job.json"
    whole = parquet.Rows.write

    def meanwhile(*arguments):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"layers": "1"}))
        return whole(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(parquet.Rows, "write", meanwhile)
        with pytest.raises(ValueError, match="made with layers 1; this run has top"):
            job()
    assert not path.parent.exists()
    ray.ends = lambda name, _: name == "write_part" and path.unlink()
    with pytest.raises(ValueError, match="should be a folder that all workers share"):
        job()


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more"])
def test_a_damaged_part_is_none(module, tmp_path, content):
    path, read = tmp_path / "part", module[1].read_piece_metadata
    assert read(path) is None
    path.write_bytes(content)
    assert read(path) is None
    pq.write_table(pa.table({"id": [1]}), path)  # of somebody else
    assert read(path) is None


def run(model, tmp_path, *arguments):
    paths = tmp_path / "text.txt", tmp_path / "out"
    return command("embed")([*paths, "--model", model, "--engine", "ray", *arguments])


def test_the_command_mixes_layers_as_the_file_command(
    job, model_directory, tmp_path, capsys
):
    mix = ["--mix", "0.5,-1,2", "--gamma", "3", "--float16", "--pooling", "mean"]
    assert run(model_directory, tmp_path, *mix) == 0
    assert "60 sentences" in capsys.readouterr().out
    vectors = pq.read_table(tmp_path / "out")["vector"]
    embedder = Embedder(model_directory, mix=[0.5, -1, 2], gamma=3.0, pooling="mean")
    assert vectors.type.value_type == pa.float16()
    np.testing.assert_allclose(
        vectors.to_pylist(), embedder(LINES), rtol=2e-3, atol=1e-3
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shard", "1/2"], "--shard works without --engine"),
        (["--id-column", "key"], "is text and has no column key"),
        (["--text-column", "said"], "is text and has no column said"),
        (["--layers", "7"], "--layers should be one of"),
        (["--layers", "top", "--gamma", "2"], "--mix and --gamma are"),
    ],
)
def test_a_wrong_argument_is_one_line(
    job, model_directory, tmp_path, capsys, arguments, message
):
    assert run(model_directory, tmp_path, *arguments) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not list(tmp_path.glob("out*"))


@pytest.fixture
def asked(ray):
    """What a Ray that is not connected yet is asked for."""
    asked = []

    def init(address, **options):
        asked.append((address, options))
        print("a worker has ended")
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    ray.is_initialized = lambda: False
    ray.init, ray.shutdown = init, lambda: asked.append("ended")
    return asked


def test_without_an_address_a_quiet_cluster_is_started_and_ended(
    module, asked, monkeypatch, capsys
):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    before = signal.getsignal(signal.SIGTERM)
    with module[1].connected(None):
        address, options = asked[0]
        assert address == "local" and options["num_cpus"] >= 1
        assert signal.getsignal(signal.SIGTERM) is before
        assert len(asked) == 1
    assert asked[1:] == ["ended"] and capsys.readouterr().out == ""
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    with module[1].connected(None):
        address, options = asked[2]
        assert address == "auto" and "num_cpus" not in options


def test_an_address_at_which_nobody_listens_is_refused(module, asked):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{other.getsockname()[1]}"
        refused = pytest.raises(ConnectionError, match=f"Ray cluster at {address}")
        with refused, module[1].connected(address):
            pass
    assert not asked


@pytest.mark.parametrize(
    ("machines", "workers", "expected"),
    [
        ([(2, 0)], None, (2, 1, 0)),
        ([(2, 0)], 1, (1, 2, 0)),
        ([(2, 0)], 3, (3, 1, 0)),
        ([(16, 0), (16, 0)], 8, (8, 4, 0)),
        ([(16, 0), (16, 0)], 1, (1, 16, 0)),  # a part is computed on one machine
        ([(0, 0), (4, 0)], None, (4, 1, 0)),
        ([(8, 1), (8, 1)], None, (2, 1, 1)),
        ([(8, 1), (8, 1)], 4, (4, 1, 0.5)),
    ],
)
def test_workers_share_what_there_is(module, ray, machines, workers, expected):
    ray.alive = [
        {"Alive": True, "Resources": {"CPU": cpus, "GPU": gpus}}
        for cpus, gpus in machines
    ]
    assert module[1].divide_cluster(workers) == expected


def test_a_cluster_without_processors_is_refused(module, ray):
    ray.alive = [{"Alive": True, "Resources": {}}]
    with pytest.raises(ValueError, match="no processors"):
        module[1].divide_cluster(2)
