"""The training program, run as its users run it."""

import contextlib
import io
import json
import os
import re
import signal
import types
from unittest import mock

import numpy as np
import pytest

from elmo_keras import Elmo
from elmo_keras import train as program
from elmo_keras.formats.model_directory import load_bilm
from elmo_keras.training import cost, traced_steps
from elmo_keras.training.checkpoint import newest_checkpoint
from elmo_keras.training.loop import TrainingRun
from elmo_keras.training.run import CHECKPOINTS
from tests.support.commands import command, replaced
from tests.support.sizes import OPTIONS_FILE
from tests.support.training_runs import SIZES, prepared, write_text

train = command("train")


def arguments_of(folder):
    """Writes the text into a folder; returns arguments that train on it."""
    return [*write_text(folder), "--output", str(folder / "model"), *SIZES]


@pytest.fixture
def files(tmp_path):
    return arguments_of(tmp_path)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model directory, what was printed, and how often the step was traced."""
    folder, shown = tmp_path_factory.mktemp("trained"), io.StringIO()
    arguments = [*arguments_of(folder), "--epochs", "2", "--neighbors", "cat"]
    traced = mock.patch.object(
        traced_steps, "train_step", wraps=traced_steps.train_step
    )
    with traced as traces, contextlib.redirect_stdout(shown):
        assert train(arguments) == 0
    return types.SimpleNamespace(
        model=folder / "model", shown=shown.getvalue(), n_traces=traces.call_count
    )


@pytest.mark.journey
def test_it_trains_on_files_and_saves_a_model(trained):
    shown, model = trained.shown, trained.model
    assert trained.n_traces == 1  # for all numbers of distinct words
    assert "24 sentences, 136 tokens, 8 distinct words; 0.00% of the tokens" in shown
    assert "0.000% are too long and cut" in shown
    assert shown.count("Held-out perplexity: forward") == 2
    assert "Epoch 2/2" in shown and "The mean fell from " in shown
    assert re.search(r"\nStep \d+: loss \d\.\d{3} nats\n", shown)
    assert "Nearest to" in shown and "[cat]" in shown
    options = json.loads((model / "options.json").read_text())
    assert (options["n_train_tokens"], options["n_tokens_vocab"]) == (136, 11)
    assert load_bilm(model).vocabulary_size == 11
    card = (model / "model_card.md").read_text()
    assert "t*.txt" in card and "136 tokens" in card and "full softmax" in card
    best = shown.split("after training: ")[1].splitlines()[0].strip()
    ways = "`Elmo` reads it: ", "published perplexities: "
    for way, result in zip(ways, best.split("; state carried over: "), strict=True):
        assert f"{way}{result}\n" in card
    assert "The first mean chose the weights." in card
    assert (model / "curves.png").read_bytes()[:4] == b"\x89PNG"
    assert newest_checkpoint(model / CHECKPOINTS)[1]["progress"]["epoch"] == 2
    elmo = Elmo.from_pretrained(model)
    assert np.isfinite(elmo(np.array([["a", "cat"]], object))).all()


def test_python_reference_is_the_default_text(tmp_path, capsys):
    output = ["--output", str(tmp_path / "model"), "--preset", OPTIONS_FILE]
    with mock.patch.object(program, "uses_to_show", wraps=program.uses_to_show) as uses:
        assert train([*output, "--dry-run"]) == 0
    assert "Training text: 2," in capsys.readouterr().out
    assert uses.call_args.args[1] == "return"


def test_the_initial_weights_are_a_function_of_the_seed(files):
    first, again, other = (prepared([*files, "--seed", seed]).initial for seed in "778")
    same = [[np.array_equal(*pair) for pair in zip(first, x)] for x in (again, other)]
    assert all(same[0]) and not all(same[1])


def test_a_model_without_checkpoints_is_not_overwritten(files, tmp_path, capsys):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "options.json").write_text("another's")
    assert train([*files, "--steps", "1"]) == 2
    assert "holds a model already" in capsys.readouterr().err
    assert [p.name for p in (tmp_path / "model").iterdir()] == ["options.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--train", "{empty}"], "--train names files that hold no sentence"),
        (["--valid", "{empty}"], "--valid names files that hold no sentence"),
        (["--vocabulary", "{words}"], "words: A vocabulary should hold <S>"),
        (["--train", "{empty}", "--vocabulary", "no"], "There is no file no"),
        (["--vocabulary-size", "2"], "--vocabulary-size should be at least 4"),
        (["--min-count", "1000"], "a lower --min-count"),
        (["--neighbors", "absent"], "--neighbors absent: the text has 0 uses of it"),
        (["--output", "/proc"], "Nothing can be written to the folder /proc"),
    ],
)
def test_bad_input_is_an_error_in_one_line(files, tmp_path, capsys, change, message):
    (tmp_path / "empty").write_text("\n\n")
    (tmp_path / "words").write_text("<S>\n</S>\nthe\n")
    places = {p.name: p for p in tmp_path.iterdir()}
    change = [c.format(**places) if "{" in c else c for c in change]
    assert train(replaced(files, change)) == 2
    shown, error = capsys.readouterr()
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "model").exists()
    assert change != ["--output", "/proc"] or shown == ""  # before the text is read


@pytest.mark.journey
@pytest.mark.usefixtures("usual_handlers")
def test_an_interrupted_training_says_so_with_its_status(files, monkeypatch, capsys):
    step = TrainingRun.step

    def end(run, batch):
        os.kill(os.getpid(), signal.SIGINT)
        return step(run, batch)

    monkeypatch.setattr(TrainingRun, "step", end)
    assert train(files) == 130
    interrupted = "Interrupted at step 1. The same command resumes there."
    assert interrupted in capsys.readouterr().err


def test_a_dry_run_prints_or_refuses_the_cost(files, tmp_path, capsys, monkeypatch):
    assert train([*files, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "24 sentences" in shown and "Memory of a replica: at least" in shown
    assert "Warning" not in shown
    assert train([*files[:6], *SIZES[:3], "300", "--dry-run"]) == 0
    assert "Warning: a batch of 300 rows of 20 tok" in capsys.readouterr().out
    assert "\nSteps: " in shown and not (tmp_path / "model").exists()
    usage = type("", (), {"free": 1000})
    monkeypatch.setattr(cost.shutil, "disk_usage", lambda path: usage)
    assert train([*files, "--dry-run"]) == 2
    assert "with more room" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


@pytest.mark.journey
def test_a_model_of_tokens_is_trained_resumed_and_started_from(files, tmp_path, capsys):
    for epochs in "13":
        assert train([*files, "--tokens", "--epochs", epochs]) == 0
    shown = capsys.readouterr().out
    means = re.findall(r"perplexity (?:before|after) training: .*?mean ([\d.]+)", shown)
    first, trained, resumed = (float(means[i]) for i in (0, 2, 4))
    assert resumed < trained < first
    model = tmp_path / "model"
    assert "char_cnn" not in json.loads((model / "options.json").read_text())
    assert load_bilm(model).token_representation.weights[0].shape == (11, 5)
    further = ["--init", str(model), *files[:4], *SIZES[2:]]
    started = str(tmp_path / "started")
    assert train([*further, "--epochs", "1", "--output", started]) == 0
    shown = capsys.readouterr().out
    before, *_, after = re.findall(r"training: .*?mean ([\d.]+)", shown)
    assert abs(float(before) - resumed) < 0.11 and float(after) < float(before)
