"""A whole job, with workers in this process or in those of Ray."""

import importlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elmo_keras import Embedder
from tests.support.commands import command

main = command("embed")

LINES = [f"line {i} has w{i % 7} " + "more " * (i % 5) for i in range(60)]
PIECE = 300  # bytes


@pytest.fixture
def embed(ray, settings, tmp_path):
    """Runs a job over `text.txt` into `out`."""
    source = tmp_path / "text.txt"
    source.write_text("\n".join(LINES))
    module = importlib.import_module("elmo_keras.embed.on_ray.ray_job")

    def run(**kwargs):
        kwargs = {"inputs": [source], "piece_bytes": PIECE} | kwargs
        given = {k: v for k, v in settings.items() if k != "model"}
        return module.embed_on_ray(
            settings["model"], output=tmp_path / "out", **given, **kwargs
        )

    return run


def rows(folder):
    return pq.read_table(folder).to_pydict()


def n_written(ray):
    done = (task for task in ray.tasks if task.name == "write")
    return sum(task.result is not None for task in done)


def test_the_rows_are_those_of_the_text(embed, ray, loaded, tmp_path):
    summary = embed()
    found = rows(tmp_path / "out")
    assert found["id"] == list(range(60))
    assert found["text"] == [line.strip() for line in LINES]
    np.testing.assert_allclose(found["vector"], loaded._embedder(LINES), atol=1e-6)
    n_tokens = sum(len(line.split()) for line in LINES)
    assert summary.finished and summary.tokens == summary.tokens_now == n_tokens
    assert summary.sentences == 60 and summary.parts == n_written(ray) > 3
    assert not (tmp_path / "out.unfinished").exists()


def test_a_stopped_job_resumes_with_the_parts_that_are_missing(embed, ray, tmp_path):
    first = embed(stop=lambda: n_written(ray) == 2)
    assert not first.finished and not (tmp_path / "out").exists()
    second = embed()
    assert second.finished and second.sentences == 60
    assert second.tokens_now == second.tokens - first.tokens_now
    assert n_written(ray) == second.parts and second.parts_again == 0
    assert rows(tmp_path / "out")["id"] == list(range(60))


def test_what_was_begun_when_a_worker_ended_is_counted(embed, ray, tmp_path):
    def ends(task):
        if task.name != "write" or task.given[0].number != 1 or ended:
            return False
        parts = task.actor.instance._parts
        path = parts.path / "begun" / f"{parts.part(1).name}.1"
        ended.append(path.write_bytes(b"half"))
        return True

    ended, ray.ends = [], ends
    summary = embed()
    assert summary.parts_again == 1 and 0 < summary.tokens_again < summary.tokens
    assert "Computed again, because" in str(summary)
    assert rows(tmp_path / "out")["id"] == list(range(60))


@pytest.mark.parametrize("others", [["another", *LINES[1:]], LINES[:20]])
def test_an_unfinished_job_over_other_texts_is_refused_or_overwritten(
    embed, ray, tmp_path, others
):
    embed(stop=lambda: n_written(ray) == 4)
    (tmp_path / "text.txt").write_text("\n".join(others))
    with pytest.raises(ValueError, match="over other texts"):
        embed()
    assert embed(overwrite=True).finished
    assert rows(tmp_path / "out")["text"] == [line.strip() for line in others]


def test_other_columns_or_pieces_are_another_job(embed, ray):
    embed(stop=lambda: n_written(ray) == 2)
    others = {"piece_bytes": PIECE + 1, "text_column": "said", "forget_sentences": True}
    for name, other in others.items():
        made = "made with " + name.replace("forget_sentences", "texts")
        with pytest.raises(ValueError, match=made):
            embed(**{name: other})


def test_a_bad_line_keeps_the_parts_before_it(embed, ray, tmp_path):
    source = tmp_path / "text.txt"
    good = "\n".join(LINES).encode()
    source.write_bytes(good[:-3] + b"\xff")
    with pytest.raises(ValueError, match=r"text\.txt should be UTF-8\. Line 60"):
        embed()
    before = n_written(ray)
    assert before > 3 and not (tmp_path / "out").exists()
    source.write_bytes(good)
    summary = embed()
    assert n_written(ray) - before == summary.parts - before


def test_an_input_that_vanished_keeps_the_parts_before_it(embed, ray, tmp_path):
    second = tmp_path / "second.txt"
    second.write_text("the end\n")

    def vanish(_):
        second.unlink(missing_ok=True)
        return False

    ray.ends = vanish
    inputs = [tmp_path / "text.txt", second]
    with pytest.raises(FileNotFoundError, match=r"second\.txt"):
        embed(inputs=inputs)
    ray.ends = lambda _: False
    second.write_text("the end\n")
    assert embed(inputs=inputs).sentences == 61
    assert rows(tmp_path / "out")["text"][-1] == "the end"


def test_no_sentences_give_a_folder_that_can_be_read(embed, tmp_path):
    (tmp_path / "text.txt").write_text("")
    assert embed().sentences == 0
    assert rows(tmp_path / "out") == {"id": [], "text": [], "vector": []}


def command(model, tmp_path, *arguments, source="text.txt"):
    given = [str(tmp_path / source), str(tmp_path / "out"), "--model", str(model)]
    return main([*given, "--engine", "ray", *arguments])


def test_the_command_mixes_layers_as_the_file_command(
    embed, model_directory, tmp_path, capsys
):
    mix = ["--mix", "0.5,-1,2", "--gamma", "3", "--float16", "--pooling", "mean"]
    assert command(model_directory, tmp_path, *mix) == 0
    assert "60 sentences" in capsys.readouterr().out
    kinds = {"layers": [0.5, -1, 2], "gamma": 3.0, "pooling": "mean"}
    found = pq.read_table(tmp_path / "out")["vector"]
    wanted = Embedder(model_directory, **kinds)(LINES)
    assert found.type.value_type == pa.float16()
    np.testing.assert_allclose(found.to_pylist(), wanted, rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shard", "1/2"], "--shard works without --engine"),
        (["--id-column", "key"], "is text and has no column key"),
        (["--layers", "7"], "`layers` should be one of"),
        (["--gamma", "2"], "--gamma needs --mix"),
    ],
)
def test_a_wrong_argument_is_one_line(
    embed, model_directory, tmp_path, capsys, arguments, message
):
    assert command(model_directory, tmp_path, *arguments) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not list(tmp_path.glob("out*"))
