"""The commands that train models of sentences and pairs."""

import json

import keras
import numpy as np
import pytest

from elmo_keras import BidirectionalLanguageModel, ElmoConfig
from elmo_keras.model_directory import save_model
from elmo_keras.tasks import classify, entail, similarity
from elmo_keras.tasks.experiments.experiment import main
from elmo_keras.tasks.models.classifier import TextClassifier
from elmo_keras.tasks.models.token_vectors import TokenVectors

SMALL = "--units 3 --word-dim 4 --character-dim 2 --batch-size 4 --epochs 1".split()
TABLE = "sentence1\tsentence2\tscore\n"


@pytest.fixture
def model_directory(tmp_path):
    bilm = BidirectionalLanguageModel(ElmoConfig.preset("test"))
    bilm.build()
    save_model(tmp_path / "bilm", bilm)
    return str(tmp_path / "bilm")


@pytest.fixture
def written(tmp_path):
    """Writes a file and gives its path as a string."""

    def write(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


def records(output):
    return json.loads((output / "results.json").read_text())


@pytest.mark.parametrize(
    "task, text, scores",
    [
        pytest.param(
            classify.TASK,
            "__label__+ gut so\n__label__- nicht so gut\n",
            {"accuracy"},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            entail.TASK,
            "a b\tb\t0\na b c\tnot c\t1\n",
            {"accuracy"},
            marks=pytest.mark.slow,
        ),
        (similarity.TASK, "a b\tb\t1\na b c\ta b\t4.5\n", {"Pearson", "Spearman"}),
    ],
)
def test_a_command_compares_elmo_with_the_baseline(
    task, text, scores, written, model_directory, tmp_path, capsys
):
    header = TABLE if task is similarity.TASK else ""
    train, dev = written("train", header + text * 4), written("dev", header + text)
    output = tmp_path / "out"
    given = ["--train", train, "--dev", dev, "--output", str(output), *SMALL]
    assert main(task, None, [*given, "--baseline", "--elmo", model_directory]) == 0
    for record in records(output):
        assert set(record["dev"]) == scores
    names = sorted(path.name for path in output.iterdir())
    assert len(names) == 3 and names[-1] == "results.json"
    models = [keras.models.load_model(output / name) for name in names[:2]]
    answers = [answer(model) for model in models]
    assert len(answers) == 2 and all(len(a) == 1 for a in answers)
    assert "baseline" in capsys.readouterr().out


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
    assert model.several and model.labels == ["joy", "anger"]


def test_a_label_that_only_dev_has_counts_as_wrong():
    classifier = TextClassifier(TokenVectors(), ["1", "2"], units=2)
    made = [{"tokens": ["a"], "label": label} for label in ("2", "3")]
    predictions = [np.array([0.1, 0.9])] * 2
    assert classify.scores(classifier, made, predictions) == {"accuracy": 0.5}


@pytest.mark.parametrize(
    "task, text, options, message",
    [
        (classify.TASK, "__label__1 a\nb\n", [], "train:2: one __label__"),
        (classify.TASK, "__label__1 a\n", ["--format", "nsmc"], "train:1: columns"),
        (classify.TASK, "a\t1\tx\n", ["--format", "goemotions"], "--labels FILE goes"),
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
        arguments = parsed(task, ["--train", path, "--output", "x", "--split", split])
        (example,) = task.read(path, arguments)
        assert example[task.text_fields[0]] == tokens


def parsed(task, given):
    from elmo_keras.tasks.experiments.experiment_arguments import parser

    p = parser(task.name, None)
    task.add_arguments(p)
    return p.parse_args(given)
