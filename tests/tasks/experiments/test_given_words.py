"""Word vectors of a file in the commands of tasks."""

import json

import keras
import numpy as np
import pytest

from elmo_keras.tasks.experiments import experiment
from elmo_keras.tasks.experiments.experiment import main
from elmo_keras.tasks.experiments.fitting import Fitted
from elmo_keras.tasks.tag import __main__ as tag

SIZES = "--no-crf --units 3 --character-dim 2 --dropout 0 --learning-rate 0.1".split()
# "The" is frequent, "cat" occurs once; "bird" is in the development text only.
TRAIN = "The O\ncat B-X\n\nThe O\nsun B-X\n\n"
DEV = "a O\nBird B-X\n\n"
VECTORS = "Bird 1 2 3\ncat 4 5 6\nmoon 7 8 9\n"
COVERAGE = "2 of 5 words have a vector in vectors.txt\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder, with examples and word vectors."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("train", TRAIN), ("dev", DEV), ("vectors.txt", VECTORS)):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture(autouse=True)
def one_step(monkeypatch):
    """Trains for one step, eagerly: there is no graph to trace."""

    def fit(model, batches, score, **_):
        model.run_eagerly = True
        rows = range(len(batches.examples))
        loss = model.train_on_batch(batches.inputs(rows), batches.targets(rows))
        return Fitted(score(), 1, 1, [float(loss)], 0.1)

    monkeypatch.setattr(experiment, "fit_until_best", fit)


def command(*options):
    given = "--train train --dev dev --output out".split()
    return main(tag.TASK, "", [*given, *SIZES, *map(str, options)])


def saved(variant="baseline"):
    """The loaded model of a run, and its record."""
    with open("out/results.json") as file:
        records = {record["variant"]: record for record in json.load(file)}
    return keras.models.load_model(f"out/{variant}-1.keras"), records[variant]


@pytest.mark.slow
def test_frozen_vectors_beside_elmo_are_those_of_the_file(model_directory, capsys):
    options = "--word-vectors", "vectors.txt", "--freeze-word-vectors"
    assert command(*options, "--elmo", model_directory) == 0
    assert capsys.readouterr().out.startswith(COVERAGE)
    tagger, record = saved("elmo-lm")
    layer = tagger.token_vectors
    assert layer.words == ("the", "bird", "cat") and layer.word_dim == 3
    table = layer.word_vectors.embeddings.numpy()
    np.testing.assert_array_equal(table[2:], [[1, 2, 3], [4, 5, 6]])
    assert np.ptp(table[:2]) > 0.1  # random, for unknown words and "the"
    assert not layer.word_vectors.trainable and layer.elmo is not None
    assert record["settings"]["word_dim"] == 3
    assert record["settings"]["freeze_word_vectors"] is True
    tagger.run_eagerly = True  # one batch: no graph to trace
    assert {len(tags) for tags in tagger.tag([["A", "bird", "!"], ["x"]])} == {3, 1}


@pytest.mark.slow
def test_vectors_that_are_not_frozen_are_trained_from_those_of_the_file():
    assert command("--word-vectors", "vectors.txt", "--word-dim", 3) == 0
    layer = saved()[0].token_vectors
    table = layer.word_vectors.embeddings.numpy()
    np.testing.assert_array_equal(table[2], [1, 2, 3])  # not in the training text
    change = np.abs(table[3] - [4, 5, 6])
    assert np.all(change > 0.01) and np.all(change < 0.2)


@pytest.mark.slow
def test_runs_with_other_vectors_are_other_runs(folder, capsys):
    def refused(*options):
        assert command(*options) == 2
        return capsys.readouterr().err

    vectors = "--word-vectors", "vectors.txt"
    assert command("--word-dim", 3) == 0
    results = folder / "out" / "results.json"
    records = json.loads(results.read_text())
    for name in ("word_vectors", "freeze_word_vectors"):  # as version 0.3 wrote them
        del records[0]["settings"][name]
    results.write_text(json.dumps(records))
    assert "word_vectors None; this run has " in refused(*vectors)
    results.unlink()
    assert command(*vectors) == 0
    before = results.read_bytes()
    assert "freeze_word_vectors False; this run has True" in refused(
        *vectors, "--freeze-word-vectors"
    )
    (folder / "vectors.txt").write_text(f"{VECTORS}stars 0 0 0\n")  # not in the text
    assert command(*vectors) == 0 and results.read_bytes() == before
    (folder / "vectors.txt").write_text(VECTORS.replace("5", "0"))
    assert "made with word_vectors " in refused(*vectors)
    assert "; this run has None. Give another --output." in refused()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            "--word-vectors vectors.txt --word-dim 4",
            "have 3 dimensions, but --word-dim",
        ),
        ("--word-vectors train", "train should hold word vectors"),
        ("--word-vectors other", "other has none of the 5 words of the examples"),
        ("--word-vectors absent", "absent"),
        ("--freeze-word-vectors", "--freeze-word-vectors needs --word-vectors FILE"),
        ("--word-vectors out/results.json", "The output out/results.json is an input"),
    ],
)
def test_vectors_that_cannot_be_used_end_a_command_with_one_line(
    folder, capsys, options, problem
):
    (folder / "other").write_text("ein 1 2\nzwei 3 4\n")
    assert command(*options.split()) == 2
    error = capsys.readouterr().err
    assert problem in error and error.count("\n") == 1
    assert not (folder / "out").exists()
