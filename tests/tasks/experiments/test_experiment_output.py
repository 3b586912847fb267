"""The folder of an experiment is checked before anything is read or trained."""

import json
import os
from pathlib import Path

import pytest

from elmo_keras.analyses import layer_weights
from elmo_keras.analyses.compare import __main__ as compare
from elmo_keras.tasks.experiments import experiment
from elmo_keras.tasks.experiments.experiment import main
from elmo_keras.tasks.tag import __main__ as tag

SENTENCE = "\t".join(["1", "word", "_", "NOUN", *"______"])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder, with a text and what looks like a model directory."""
    monkeypatch.chdir(tmp_path)
    Path("a.conllu").write_text(f"{SENTENCE}\n\n" * 3)
    Path("lm").mkdir()
    for name in ("options.json", "weights.hdf5"):
        Path("lm", name).write_text("{}")
    return tmp_path


def tree(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files}


def arguments(output, train="a.conllu"):
    return ["--train", train, "--dev", "a.conllu", "--output", output]


def refused(status, capsys):
    """The line of a refusal."""
    error = capsys.readouterr().err
    assert status == 2 and error.count("\n") == 1
    return error


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("a.conllu", "a.conllu should be a folder, but is none"),
        ("a.conllu/out", "a.conllu should be a folder for a.conllu/out"),
        ("/proc", "Nothing can be written to the folder /proc"),
        ("taken", "taken/baseline-1.keras should be a file, but is a folder"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused(
    folder, monkeypatch, capsys, output, problem
):
    monkeypatch.setattr(experiment, "read_data", None)
    Path("taken/baseline-1.keras").mkdir(parents=True)
    before = tree(folder)
    assert problem in refused(main(tag.TASK, "", arguments(output)), capsys)
    of_table = [*arguments(output), "--table", "mixes", "--elmo", "lm"]
    assert problem in refused(compare.main(["tag", *of_table]), capsys)
    assert tree(folder) == before


@pytest.mark.parametrize("name", ["results.json", "baseline-1.keras", "link"])
def test_examples_in_place_of_an_output_are_refused(folder, capsys, name):
    Path("out").mkdir()
    os.link("a.conllu", "out/results.json")
    os.link("a.conllu", "out/baseline-1.keras")
    Path("out/link").symlink_to("results.json")
    before = tree(folder)
    line = refused(main(tag.TASK, "", arguments("out", f"out/{name}")), capsys)
    assert "The output out/results.json is an input" in line
    assert tree(folder) == before


def test_runs_of_another_task_are_not_mixed_in(capsys):
    Path("out").mkdir()
    record = {"task": "classify", "variant": "baseline", "seed": 7, "dev": {}}
    Path("out/results.json").write_text(json.dumps([record]))
    line = refused(main(tag.TASK, "", arguments("out")), capsys)
    assert "out/results.json has runs of another task: classify" in line


@pytest.mark.parametrize(
    ("picture", "problem"),
    [
        ("picture.doc", "A picture should end in one of .png"),
        ("picture", "A picture should end in one of .png"),
        ("no/picture.png", "There is no folder no"),
        ("lm/curves.png", "The output lm/curves.png is an input"),
        ("folder.png", "folder.png should be a file, but is a folder"),
    ],
)
def test_a_picture_is_checked_before_the_runs(monkeypatch, capsys, picture, problem):
    monkeypatch.setattr(experiment, "run", None)
    Path("folder.png").mkdir()
    options = ["--table", "shares", "--elmo", "lm", "--picture", picture]
    line = refused(compare.main(["tag", *arguments("out"), *options]), capsys)
    assert problem in line and not Path("out").exists()


def test_a_picture_does_not_replace_the_results(folder, capsys):
    Path("results.png").write_text("[]")  # a name that a picture may have
    before = tree(folder)
    command = ["results.png", "--picture", "./results.png"]
    assert "is an input" in refused(layer_weights.main(command), capsys)
    assert tree(folder) == before
