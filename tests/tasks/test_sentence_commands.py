"""The commands that train models of sentences and pairs."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest

from elmo_keras.tasks.classify import __main__ as classify
from elmo_keras.tasks.classify.classifier import TextClassifier
from elmo_keras.tasks.entail import __main__ as entail
from elmo_keras.tasks.experiments import experiment, experiment_arguments
from elmo_keras.tasks.experiments.experiment import main
from elmo_keras.tasks.experiments.fitting import Fitted
from elmo_keras.tasks.layers.token_vectors import TokenVectors
from elmo_keras.tasks.similarity import __main__ as similarity

SMALL = "--units 3 --word-dim 4 --character-dim 2 --batch-size 4 --epochs 1".split()
TABLE = "sentence1\tsentence2\tscore\n"


@pytest.fixture
def written(tmp_path):
    """Writes a file and returns its path as a string."""

    def write(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


def records(output):
    return json.loads((output / "results.json").read_text())


CASES = [
    (classify.TASK, "__label__+ gut so\n__label__- nicht so gut\n", {"accuracy"}),
    (entail.TASK, "a b\tb\t0\na b c\tnot c\t1\n", {"accuracy"}),
    (similarity.TASK, "a b\tb\t1\na b c\ta b\t4.5\n", {"Pearson", "Spearman"}),
]


def test_a_command_keeps_a_model_and_its_scores(written, tmp_path, monkeypatch):
    def untrained(model, batches, score, **_):
        return Fitted(score(), 1, 1, [1.0], 0.1)

    monkeypatch.setattr(experiment, "fit_until_best", untrained)
    check_command(*CASES[-1], written=written, output=tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("task, text, scores", CASES)
def test_a_command_compares_elmo_with_the_baseline(
    task, text, scores, written, model_directory, tmp_path, capsys
):
    more = ["--baseline", "--elmo", str(model_directory)]
    output = tmp_path / "out"
    check_command(task, text, scores, written=written, output=output, more=more)
    assert "baseline" in capsys.readouterr().out


def check_command(task, text, scores, *, written, output, more=()):
    """Runs a command; each of its models has scores and answers."""
    header = TABLE if task is similarity.TASK else ""
    train, dev = written("train", header + text * 4), written("dev", header + text)
    given = ["--train", train, "--dev", dev, "--output", str(output), *SMALL]
    assert main(task, None, [*given, *more]) == 0
    made = records(output)
    assert all(set(record["dev"]) == scores for record in made)
    names = [f"{record['variant']}-{record['seed']}.keras" for record in made]
    assert len(names) == (2 if more else 1)
    assert {path.name for path in output.iterdir()} == {*names, "results.json"}
    for name in names:
        assert len(answer(keras.models.load_model(output / name))) == 1


def answer(model):
    one = [["a", "b"]]
    if hasattr(model, "classify"):
        return model.classify(one)
    return (model.judge if hasattr(model, "judge") else model.similarity)(one, one)


@pytest.mark.slow
def test_texts_with_several_labels_are_classified_by_their_names(written, tmp_path):
    train = written("train", "Oh no!\t1\tx\nYes.\t0,1\ty\nWell\t0\tz\n" * 4)
    names, output = written("labels", "joy\nanger\n"), tmp_path / "out"
    given = ["--train", train, "--dev", train, "--output", str(output), *SMALL]
    options = ["--format", "goemotions", "--labels", names]
    assert main(classify.TASK, None, [*given, *options]) == 0
    (record,) = records(output)
    assert set(record["dev"]) == {"macro F1", "micro F1"}
    model = keras.models.load_model(next(output.glob("*.keras")))
    assert model.multi_label and model.labels == ["joy", "anger"]


def test_a_label_that_only_dev_has_counts_as_wrong():
    classifier = TextClassifier(TokenVectors(), ["1", "2"], units=2)
    made = [{"tokens": ["a"], "label": label} for label in ("2", "3")]
    predictions = [np.array([0.1, 0.9])] * 2
    assert classify.TASK.scores(classifier, made, predictions) == {"accuracy": 0.5}


@pytest.mark.parametrize(
    "task, text, options, message",
    [
        (classify.TASK, "__label__1 a\nb\n", [], "train:2: one __label__"),
        (classify.TASK, "__label__1 a\n", ["--format", "nsmc"], "train:1: columns"),
        (classify.TASK, "a\t1\tx\n", ["--format", "goemotions"], "needs --labels FILE"),
        (entail.TASK, "a\tb\t1\na\tb\n", [], "train:2: 3 fields"),
        (entail.TASK, "{", ["--format", "snli"], "train:1: JSON"),
        (similarity.TASK, f"{TABLE}a\tb\t7\n", [], "train:2: a score from 0 to 5"),
    ],
)
def test_a_malformed_file_ends_a_command_with_one_line_and_leaves_nothing(
    task, text, options, message, written, tmp_path, capsys
):
    given = ["--train", written("train", text), "--output", str(tmp_path / "out")]
    assert main(task, None, [*given, *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert error.startswith(f"elmo_keras.tasks.{task.name}: ")
    assert [path.name for path in tmp_path.iterdir()] == ["train"]


@pytest.mark.parametrize("task", [classify.TASK, entail.TASK, similarity.TASK])
def test_raw_text_may_be_split_at_spaces_or_at_punctuation(task, written):
    rows = {
        "classify": "__label__1 a.b c!\n",
        "entail": "a.b c!\td\t1\n",
        "similarity": f"{TABLE}a.b c!\td\t1\n",
    }
    path = written("train", rows[task.name])
    for split, tokens in (
        ("spaces", ["a.b", "c!"]),
        ("punctuation", ["a.b", "c", "!"]),
    ):
        given = ["--train", path, "--output", "x", "--split", split]
        parser = experiment_arguments.parser(task.name, task, None)
        options, _ = experiment_arguments.parse(parser, task, given)
        (example,) = task.read(Path(path), options.of_task)
        assert example[task.model_class.text_fields[0]] == tokens
