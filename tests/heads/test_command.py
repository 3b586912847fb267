"""The commands `train-head` and `evaluate`: their output, their files, their errors."""

import json
import os
import re
import shlex
from pathlib import Path

import keras
import pytest

from elmo_keras import pipeline
from elmo_keras.heads import read_conllu
from elmo_keras.heads import run as runs
from elmo_keras.heads.head import read_head
from tests.support.commands import command, replaced
from tests.support.task_models import document, questions

train_head, evaluate = command("train-head"), command("evaluate")
pytestmark = pytest.mark.usefixtures("folder")
FILES = "head.json head.safetensors model.keras model_card.md results.json".split()


def run(*more):
    """The status of a command that trains a small tagger."""
    arguments = "--train train.conllu --dev dev.conllu --output out --no-crf --units 5"
    arguments += " --model none --word-dim 4 --character-dim 2 --epochs 2"
    arguments += " --learning-rate 0.05"
    return train_head(["pos", *replaced(arguments.split(), more)])


@pytest.mark.journey
def test_a_run_leaves_a_model_that_tags_and_its_scores(model_directory, capsys):
    more = "--model", model_directory, "--test", "dev.conllu", "--elmo-at", "both"
    assert run(*more, "--limit", 19, "--arithmetic", "float32") == 0
    results = json.loads(Path("out/results.json").read_text())
    assert results["cached"] and results["examples"] == 19
    for place in ("input", "output"):
        assert sum(results["mixes"][place]["weights"]) == pytest.approx(1, abs=1e-5)
    assert results["dev"] == results["test"]  # the same file
    assert results["losses"][1] < results["losses"][0]
    assert sorted(os.listdir("out")) == FILES
    tagger = keras.models.load_model("out/model.keras")
    tagger.run_eagerly = True  # one batch: no graph to trace
    examples = read_conllu("dev.conllu")
    tags = tagger.predict([example["tokens"] for example in examples])
    pairs = [p for e, t in zip(examples, tags) for p in zip(e["tags"], t)]
    accuracy = sum(gold == predicted for gold, predicted in pairs) / len(pairs)
    assert accuracy == pytest.approx(results["dev"]["accuracy"])
    printed = capsys.readouterr().out
    assert f"dev: accuracy {100 * accuracy:.2f}\n" in printed
    assert printed.endswith("The head is in out\n")
    assert printed.count("the biLM's layers, computed once: ") == 1


def test_the_folder_is_a_head_in_place_of_another(eagerly, model_directory, capsys):
    more = "--model", model_directory, "--word-dim", 0, "--character-dim", 0
    more += "--limit", 8, "--epochs", 1
    Path("out").mkdir()
    for name in FILES[:-1]:
        Path("out", name).write_bytes(b"old")
    assert run(*more) == 0 and sorted(os.listdir("out")) == FILES
    assert len(pipeline("out")("The cat")) == 2 and (
        read_head(Path("out")).card.kind == "pos"
    )
    card = Path("out/model_card.md").read_text()
    assert "8 examples of `train.conllu` (train); 9 examples of `dev.conllu`" in card
    assert re.search(r"\| dev +\| +[\d.]+ \|", card)
    assert re.search(r"NOUN [\d.]+ \(\d+\)", card)
    words = shlex.split(re.search(r"^elmo-keras (.*)$", card, re.M)[1])
    # The command in the card is this run, so nothing is trained again.
    results = Path("out/results.json").read_bytes()
    assert command(words[0])(words[1:]) == 0
    assert Path("out/results.json").read_bytes() == results


@pytest.mark.journey
def test_roles_come_with_the_head_that_finds_predicates(model_directory, capsys):
    rows = "Ann\t-\tB-A0", "saw\tsee\tB-V", "him\t-\tB-A1"
    Path("roles").write_text(8 * ("\n".join(rows) + "\n\n"))
    arguments = "srl --train roles --dev roles --output out --units 3 --epochs 40"
    arguments += " --elmo-dropout 0 --layer-dropout 0 --learning-rate 0.03"
    assert train_head([*arguments.split(), "--model", model_directory]) == 0
    assert sorted(os.listdir("out/predicates")) == FILES
    [frame] = pipeline("out")("Ann saw him")
    roles = [(role["text"], role["label"]) for role in frame["roles"]]
    assert frame["predicate"]["text"] == "saw"
    assert roles == [("Ann", "A0"), ("him", "A1")]
    assert capsys.readouterr().out.count("dev: F1 100.00") == 2


@pytest.mark.usefixtures("eagerly")
def test_a_run_that_is_stopped_keeps_the_model_of_its_best_epoch(monkeypatch, capsys):
    real = runs.score_model

    def stopped(*arguments):
        if Path("out/model.keras").exists():
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(runs, "score_model", stopped)
    assert run("--limit", 8) == 130
    assert capsys.readouterr().err.endswith("elmo-keras train-head: Interrupted.\n")
    assert sorted(os.listdir("out")) == ["model.keras"]
    monkeypatch.setattr(runs, "score_model", real)
    assert run("--limit", 8, "--epochs", 1) == 0 and Path("out/results.json").exists()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("--train linked/head.safetensors --output linked", "The output linked/"),
        ("--train linked/link --output linked", "The output linked/"),
        # An output that can't be written is refused before anything is read.
        ("--train bad.conllu --output dev.conllu", "dev.conllu should be a folder"),
        ("--train bad.conllu --output taken --model lm", "keras should be a file, but"),
        ("--output broken", "should hold the results of a task"),
        ("--dev bad.conllu", "elmo-keras train-head: bad.conllu:1: 10 columns"),
        ("--word-vectors three", "--word-dim is 4, but the vectors of three have 3"),
        ("--word-vectors two", "two has none of the words of the examples"),
        ("--word-vectors dev.conllu", "dev.conllu should hold word vectors"),
        ("--freeze-word-vectors", "--freeze-word-vectors needs --word-vectors"),
        ("--arithmetic int8 --no-cache", "Leave out --fine-tune and --no-cache"),
        ("--word-vectors out/results.json", "output out/results.json is an input"),
        ("--train russian --dev russian --model auto", "Name a model."),
    ],
)
def test_what_cannot_be_used_ends_a_command(folder, capsys, options, problem):
    for name in "lm", "broken", "linked", "taken/model.keras":
        Path(name).mkdir(parents=True)
    texts = {
        "bad.conllu": "1\tword\n",
        "three": "the 1 2 3\n",
        "two": "ein 1 2\nzwei 3 4\n",
        "russian": "".join(f"1\tдом\t_\t{tag}" + 6 * "\t_" + "\n\n" for tag in "XY"),
    }
    texts |= {"lm/options.json": "", "lm/weights.hdf5": "", "broken/results.json": "{"}
    for name, text in texts.items():
        Path(name).write_text(text)
    for name in "head.safetensors", "results.json":
        os.link("train.conllu", f"linked/{name}")
    Path("linked/link").symlink_to("results.json")
    paths = [path for path in folder.rglob("*") if path.is_file()]
    before = [path.read_bytes() for path in paths]
    if options.endswith("two"):
        options += " --word-dim 2"
    assert run(*options.split()) == 2 and problem in capsys.readouterr().err
    assert [path.read_bytes() for path in paths] == before
    assert not Path("out").exists() and len(paths) == sum(
        map(Path.is_file, folder.rglob("*"))
    )


def test_a_head_is_scored_on_a_file_over_all_and_by_label(head, cells, capsys):
    result = pipeline(head("pos")).evaluate("dev.conllu")
    assert evaluate([head("pos"), "dev.conllu"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"9 examples: {result}\n\n| label")
    labels, mistakes = (cells(table) for table in printed.split("\n\n")[1:])
    rows = [[x, f"{100 * f1:.1f}", str(n)] for x, (f1, n) in result.labels.items()]
    assert labels[0] == ["label", "F1", "number"] and labels[2:] == rows
    assert mistakes[0] == ["expected", "predicted", "times"]
    assert mistakes[2:] == [[*map(str, mistake)] for mistake in result.mistakes[:8]]


def test_labels_that_a_head_lacks_are_answered_with_its_own(head, capsys):
    Path("other.jsonl").write_text('{"tokens": ["Ann"], "tags": ["NP"]}\n')
    assert evaluate([head("pos"), "other.jsonl"]) == 0
    names = ", ".join(pipeline(head("pos")).labels)
    assert f"\nThe head gives other labels: {names}.\n" in capsys.readouterr().out


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("kind", ["pos", "qa", "coref"])
def test_predictions_are_written_beside_their_examples(kind, head, error_of):
    text = questions(("Ann sat .", "Who sat ?", "Ann"))
    if kind == "coref":
        text = document([("Ann", "(1)"), ("saw", "-"), None, ("her", "(1)")])
    Path("labelled").write_text(
        Path("dev.conllu").read_text() if kind == "pos" else text
    )
    arguments = [head(kind), "labelled", "--output", "predictions.jsonl"]
    assert evaluate(arguments) == 0
    written = Path("predictions.jsonl").read_text()
    result = pipeline(head(kind)).evaluate("labelled")
    rows = [json.loads(line) for line in written.splitlines()]
    predictions = json.loads(json.dumps(result.predictions))
    assert [row["predicted"] for row in rows] == predictions
    field = {"pos": "tags", "qa": "answers", "coref": "clusters"}[kind]
    expected = json.loads(json.dumps([e[field] for e in result.examples]))
    assert [row[field] for row in rows] == expected
    assert "predictions.jsonl exists. Give another name, or --ov" in error_of(
        evaluate, arguments
    )
    assert "is an input" in error_of(evaluate, [*arguments[:-1], "labelled"])
    assert "offsets" not in rows[0], "only what JSON can say"
    Path("predictions.jsonl").write_text("earlier")
    assert evaluate([*arguments, "--overwrite"]) == 0
    assert Path("predictions.jsonl").read_text() == written
