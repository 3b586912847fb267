"""Training starts from our models, published weights and checkpoints of bilm-tf."""

import dataclasses
import json
import re
import shlex

import h5py
import numpy as np
import pytest

from elmo_keras import BidirectionalLanguageModel, Vocabulary
from elmo_keras.formats.model_directory import find_model, load_bilm, save_model
from elmo_keras.formats.options import to_options
from elmo_keras.formats.variables import write_weights
from elmo_keras.training import progress, report
from elmo_keras.training.inputs import python_reference
from elmo_keras.training.run import WARM_UP_STEPS
from tests.support import tf1_checkpoints as tf1
from tests.support.commands import command
from tests.support.models import randomize
from tests.support.paths import ROOT
from tests.support.training_runs import TEXT, prepared, write_text

train = command("train")

WORDS = Vocabulary.count(line.split() for line in TEXT.splitlines())


@pytest.fixture
def files(tmp_path):
    tuned = ["--output", str(tmp_path / "tuned"), "--batch-size", "4"]
    return [*write_text(tmp_path), *tuned]


@pytest.fixture
def bilm(config):
    bilm = BidirectionalLanguageModel(config, vocabulary_size=len(WORDS))
    bilm.build()
    return randomize(bilm)


def assert_same_weights(actual, expected):
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def weights_but_the_softmax(bilm):
    return bilm.token_representation.get_weights() + bilm.lstm.get_weights()


def test_our_model_has_its_softmax_and_vocabulary_or_new_ones(files, bilm, tmp_path):
    save_model(tmp_path / "ours", bilm, WORDS)
    files = [*files, "--init", str(tmp_path / "ours")]
    run = prepared(files)
    assert_same_weights(run.model.get_weights(), bilm.get_weights())
    assert run.inputs.vocabulary.digest == WORDS.digest
    assert run.model.warm_up_steps == 0
    files += ["--new-softmax", "--vocabulary-size", "7"]
    model = prepared(files).model
    assert_same_weights(*map(weights_but_the_softmax, (model.bilm, bilm)))
    assert model.bilm.vocabulary_size == 7
    assert 0 < 4 * model.warm_up_steps <= run.limits.epochs * run.streams.n_steps(0)
    assert prepared([*files, "--steps", "9999"]).model.warm_up_steps == WARM_UP_STEPS


@pytest.mark.journey  # it trains `en`
def test_the_line_of_the_guide_fine_tunes_the_model(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    topics = python_reference()
    lines = [" ".join(sentence) for topic in topics for sentence in topic]
    for name, part in ("domain", lines[:80]), ("domain_valid", lines[80:100]):
        (tmp_path / f"{name}.txt").write_text("\n".join(part))
    guide = (ROOT / "docs/pages/how-to/fine-tune.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^elmo-keras train (--init .+)$", guide, re.M)
    assert train(shlex.split(line)) == 0
    shown = capsys.readouterr().out
    before, after = re.search(r"mean fell from ([\d.,]+) to ([\d.]+)", shown).groups()
    assert float(after) < 0.95 * float(before.replace(",", ""))
    valid = ["--evaluate", "--valid", "domain_valid.txt"]
    assert train([*valid, "--output", "tuned"]) == 0
    assert f"mean {after};" in capsys.readouterr().out


@pytest.mark.journey  # it trains a model of its own
@pytest.mark.parametrize(
    ("highest", "options", "message"),
    [
        (1e9, [], "rose .*, from .* is the one before training. A lower --learn"),
        (1e9, ["--keep-last"], "rose .*, from .* is the last one. A lower --learn"),
        (0.1, [], "Training diverged: the loss is .* is the best one before that"),
    ],
)
def test_what_is_worse_than_the_start_is_an_error_and_not_kept(
    files, bilm, tmp_path, capsys, monkeypatch, highest, options, message
):
    monkeypatch.setattr(progress, "DIVERGED_RISE", highest)
    save_model(tmp_path / "ours", bilm, WORDS)
    updates = ["--optimizer", "sgd", "--learning-rate", 3, "--epochs", "2"]
    files = [*files, "--init", tmp_path / "ours", *updates, *options]
    for _ in range(2 if options else 1):  # again it is finished, and says the same
        assert train(files) == 1
        error = capsys.readouterr().err
        assert re.search(message, error) and error.count("\n") == 1
    tuned, before = load_bilm(tmp_path / "tuned").get_weights(), bilm.get_weights()
    same = [np.array_equal(a, b) for a, b in zip(tuned, before, strict=True)]
    assert any(same) == all(same) == (not options)


@pytest.mark.journey
def test_published_weights_get_a_softmax_that_is_warmed_up_alone(files, bilm, tmp_path):
    (tmp_path / "options.json").write_text(json.dumps(to_options(bilm.config)))
    with h5py.File(tmp_path / "weights.hdf5", "w") as file:
        write_weights(bilm, file)
    published = ["--options", str(tmp_path / "options.json")]
    published += ["--weights", str(tmp_path / "weights.hdf5")]
    # More steps continue a run whose rate is constant.
    published += ["--schedule", "constant", "--warm-up", "2", "--unroll-steps", "6"]
    reused = prepared([*files, *published])
    assert reused.inputs.new_softmax
    lines = report.describe_inputs(reused.inputs, reused.streams)
    assert "Softmax: a new one, with random weights" in lines

    def weights_after(n_steps):
        assert reused.attempt(tmp_path / "tuned", n_steps=n_steps)
        assert reused.model.run.progress.step == n_steps
        return reused.model.get_weights()

    warm = weights_after(2)
    assert_same_weights(warm[:-2], bilm.get_weights()[:-2])
    assert np.abs(warm[-2] - bilm.get_weights()[-2]).max() > 0.01
    after = weights_after(3)
    assert all((a != b).any() for a, b in zip(warm, after, strict=True))


@pytest.fixture
def checkpoint(tmp_path):
    """A checkpoint that bilm-tf trained on eleven words, and a file of the words."""
    folder = tmp_path / "bilm-tf"
    folder.mkdir()
    tf1.write(folder / "model.ckpt-9", tf1.arrays())
    (folder / "options.json").write_text(json.dumps(tf1.options()))
    WORDS.save(tmp_path / "words.txt")
    return ["--init", str(folder), "--vocabulary", str(tmp_path / "words.txt")]


def test_a_checkpoint_has_softmax_and_accumulators(files, checkpoint, bilm, tmp_path):
    (tmp_path / "bilm-tf/vocab.txt").write_text("<S>\n</S>\n<UNK>\nother\n")
    run = prepared([*files, *checkpoint, "--optimizer", "adagrad"])
    assert run.inputs.vocabulary.digest == WORDS.digest
    files = find_model(tmp_path / "bilm-tf")
    files = dataclasses.replace(files, vocabulary_path=tmp_path / "words.txt")
    files.read_into(bilm, with_softmax=True)
    expected = files.adagrad_accumulators(bilm)
    assert_same_weights(run.model.get_weights(), bilm.get_weights())
    slots = run.model.optimizer.variables[-len(expected) :]
    assert_same_weights([v.numpy() for v in slots], expected)
    assert run.model.warm_up_steps == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a[:2], "--vocabulary should name the file of words that the soft"),
        (lambda a: ["--init", "nowhere"], "There is no nowhere"),
        (lambda a: [*a, "--vocabulary-size", "5"], "--vocabulary-size is for counting"),
        (lambda a: [*a[:3], "{short}"], "row for each of the 4 words"),
        (lambda a: [*a[:3], "{other}"], "should hold <S>, </S>, <UNK>"),
    ],
)
def test_wrong_starts_are_refused(
    files, checkpoint, tmp_path, error_of, change, message
):
    (tmp_path / "short").write_text("<S>\n</S>\n<UNK>\na\n")
    (tmp_path / "other").write_text("<S>\n</S>\nthe\n")
    places = {name: tmp_path / name for name in ("short", "other")}
    arguments = [a.format(**places) for a in change(checkpoint)]
    assert message in error_of(train, [*files, *arguments])
    assert not (tmp_path / "tuned").exists()
