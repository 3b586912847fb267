"""What training on files writes, keeps and refuses, and when it ends."""

import dataclasses
import json
import os
import re
import shlex
import shutil
from pathlib import Path

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import pipeline
from elmo_keras.pipelines.pipeline import needs_tensorflow, type_of
from elmo_keras.tasks import Settings, Tagging, fit, read_conllu, train
from elmo_keras.tasks.fit import fit_until_best, read_data
from tests.support.commands import command, replaced

tag = command("tag")
WORDS = {"the": "DET", "a": "DET", "cat": "NOUN", "dog": "NOUN", "sees": "VERB"}
RESULTS = Path("out/results.json")
FILES = {"head.json", "head.npz", "model.keras", "model_card.md", "results.json"}


def conllu(path, n, seed):
    """A file of sentences in which each word has one part of speech."""
    rng = np.random.default_rng(seed)
    with open(path, "w") as file:
        for _ in range(n):
            for i, word in enumerate(rng.choice(list(WORDS), rng.integers(1, 6)), 1):
                print(i, word, "_", WORDS[word], *"______", sep="\t", file=file)
            print(file=file)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder, with training and development text."""
    monkeypatch.chdir(tmp_path)
    conllu("train.conllu", 20, 0)
    conllu("dev.conllu", 9, 1)
    return tmp_path


def run(*more):
    """The status of a command that trains a small tagger."""
    given = "--train train.conllu --dev dev.conllu --output out --no-crf --units 5"
    given += " --model none --word-dim 4 --character-dim 2 --epochs 2"
    return tag(replaced(f"{given} --learning-rate 0.05".split(), more))


def results():
    return json.loads(RESULTS.read_text())


def test_a_run_leaves_a_model_that_tags_and_its_scores(model_directory, capsys):
    more = "--model", model_directory, "--test", "dev.conllu", "--elmo-at", "both"
    assert run(*more, "--limit", 19) == 0
    found = results()
    assert found["cached"] and found["examples"] == 19
    for place in ("input", "output"):
        assert sum(found["mixes"][place]["weights"]) == pytest.approx(1, abs=1e-5)
    assert found["dev"] == found["test"]  # the same file
    assert found["losses"][1] < found["losses"][0]
    assert {*os.listdir("out")} == FILES
    tagger = keras.models.load_model("out/model.keras")
    tagger.run_eagerly = True  # one batch: no graph to trace
    examples = read_conllu("dev.conllu")
    tags = tagger.predict([example["tokens"] for example in examples])
    pairs = [p for e, t in zip(examples, tags) for p in zip(e["tags"], t)]
    accuracy = sum(gold == own for gold, own in pairs) / len(pairs)
    assert accuracy == pytest.approx(found["dev"]["accuracy"])
    printed = capsys.readouterr().out
    assert f"dev: accuracy {100 * accuracy:.2f}\n" in printed
    assert printed.count("the biLM's layers, computed once: ") == 1


@pytest.fixture
def untrained(monkeypatch, eager_tasks):
    """Skips training; returns the list of seeds."""
    made = []

    def skip(model, batches, score, *, seed, save, **_):
        made.append(seed)
        save()
        return {"dev": {"accuracy": 0.5}, "losses": [2.0], "epochs": 1, "best_epoch": 1}

    monkeypatch.setattr(fit, "fit_until_best", skip)
    return made


def test_a_finished_run_is_kept_and_another_one_refused(untrained, capsys, monkeypatch):
    assert run() == 0
    before = RESULTS.read_bytes()
    assert run() == 0 and untrained == [1]
    assert run("--batch-size", 7) == 2
    assert "made with batch_size 8; this run has 7" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr(fit, "FEW_EXAMPLES", 1)
        assert run() == 2
    assert "made with batch_size 8; this run has 32" in capsys.readouterr().err
    assert run("--seed", 2) == 2
    conllu("train.conllu", 31, 2)
    assert run() == 2
    assert "made with data " in capsys.readouterr().err
    assert RESULTS.read_bytes() == before and untrained == [1]


def test_the_folder_is_a_head_in_place_of_another(untrained, model_directory, capsys):
    more = "--model", model_directory, "--word-dim", 0, "--character-dim", 0
    Path("out").mkdir()
    for name in FILES - {"results.json"}:
        Path("out", name).write_bytes(b"old")
    assert run(*more, "--kind", "pos") == 0 and {*os.listdir("out")} == FILES
    find = pipeline("out")
    assert len(find("The cat")) == 2 and not needs_tensorflow("out")
    card = Path("out/model_card.md").read_text()
    assert "20 examples of `train.conllu` (train); 9 examples of `dev.conllu`" in card
    assert "| dev  |     50.0 |" in card and re.search(r"NOUN [\d.]+ \(\d+\)", card)
    made = shlex.split(re.search(r"^elmo-keras (.*)$", card, re.M)[1])
    # The command in the card is this run, so nothing is trained again.
    assert command(made[0])(made[1:]) == 0 and untrained == [1]


def test_without_a_frozen_language_model_the_folder_is_its_keras_model(untrained):
    assert run() == 0
    assert {*os.listdir("out")} == FILES - {"head.json", "head.npz"}
    assert needs_tensorflow("out") and type_of("out") == "words"
    assert type_of("out/model.keras") == "words"


@pytest.mark.slow
def test_roles_come_with_the_head_that_finds_predicates(model_directory, capsys):
    rows = "Ann\t-\tB-A0", "saw\tsee\tB-V", "him\t-\tB-A1"
    Path("roles").write_text(8 * ("\n".join(rows) + "\n\n"))
    given = "--kind srl --train roles --dev roles --output out --units 3 --epochs 40"
    assert tag([*given.split(), "--model", model_directory]) == 0
    assert {*os.listdir("out/predicates")} == FILES
    [found] = pipeline("out")("Ann saw him")
    roles = [(role["text"], role["label"]) for role in found["roles"]]
    assert found["predicate"]["text"] == "saw"
    assert roles == [("Ann", "A0"), ("him", "A1")]
    assert capsys.readouterr().out.count("dev: F1 100.00") == 2


@pytest.mark.parametrize(
    ("more", "n_examples", "expected"),
    [
        ({}, 100, (48, 8, 0, 0, "int8")),
        ({}, 5000, (12, 32, 0, 0, "int8")),
        ({}, 9, (50, 8, 0, 0, "int8")),
        ({"epochs": 3, "batch_size": 2, "word_dim": 7}, 9, (3, 2, 7, 0, "int8")),
        ({"elmo_at": "output"}, 5000, (12, 32, 100, 64, "int8")),
        ({"model": "none", "fine_tune": True}, 5000, (12, 32, 100, 64, None)),
    ],
)
def test_the_defaults_are_those_of_the_packages_heads(more, n_examples, expected):
    pytest.importorskip("ai_edge_litert")
    settings = Settings(train=Path("x"), output=Path("y"), **more)
    chosen = fit._for_examples(fit._checked(settings, Tagging.defaults), 12, n_examples)
    names = "epochs", "batch_size", "word_dim", "character_dim", "arithmetic"
    assert tuple(getattr(chosen, name) for name in names) == expected


def test_a_model_that_has_changed_is_refused(model_directory, untrained, capsys):
    shutil.copytree(model_directory, "lm")
    assert run("--model", "lm", "--no-cache") == 0
    assert not results()["cached"]
    with h5py.File("lm/weights.hdf5", "r+") as weights:
        weights["CNN_proj/b_proj"][0] += 1
    assert run("--model", "lm", "--no-cache") == 2
    assert "made with weights " in capsys.readouterr().err


@pytest.mark.usefixtures("eager_tasks")
def test_a_run_that_is_stopped_keeps_the_model_of_its_best_epoch(monkeypatch, capsys):
    real = fit.evaluate

    def stopped(task, model, examples, cache):
        if Path("out/model.keras").exists():
            raise KeyboardInterrupt
        return real(task, model, examples, cache)

    monkeypatch.setattr(fit, "evaluate", stopped)
    assert run() == 130
    assert capsys.readouterr().err.endswith("elmo-keras tag: Interrupted.\n")
    assert os.listdir("out") == ["model.keras"]
    monkeypatch.setattr(fit, "evaluate", real)
    assert run("--epochs", 1) == 0 and RESULTS.exists()


def test_the_layers_of_the_same_files_are_computed_once(untrained, model_directory):
    model = str(model_directory)
    settings = Settings(train=Path("train.conllu"), output=Path("a"), model=model)
    task, caches = Tagging(), {}
    train(task, settings, caches=caches)
    [cache] = caches.values()
    other = dataclasses.replace(settings, output=Path("b"), layers="top", seed=2)
    assert train(task, other, caches=caches)["cached"]
    assert list(caches.values()) == [cache]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("--train linked/head.npz --output linked", "The output linked/"),
        ("--train linked/link --output linked", "The output linked/"),
        # An output that can't be written is refused before anything is read.
        ("--train bad.conllu --output dev.conllu", "dev.conllu should be a folder"),
        ("--train bad.conllu --output taken --model lm", "keras should be a file, but"),
        ("--output broken", "should hold the results of a task"),
        ("--dev bad.conllu", "elmo-keras tag: bad.conllu:1: 10 columns"),
        ("--word-vectors three", "--word-dim is 4, but the vectors of three have 3"),
        ("--word-vectors two", "two has none of the words of the examples"),
        ("--word-vectors dev.conllu", "dev.conllu should hold word vectors"),
        ("--freeze-word-vectors", "--freeze-word-vectors needs --word-vectors"),
        ("--arithmetic int8 --no-cache", "Leave out --fine-tune and --no-cache"),
        ("--word-vectors out/results.json", "output out/results.json is an input"),
    ],
)
def test_what_cannot_be_used_ends_a_command(folder, capsys, options, problem):
    for name in "lm", "broken", "linked", "taken/model.keras":
        Path(name).mkdir(parents=True)
    texts = {
        "bad.conllu": "1\tword\n",
        "three": "the 1 2 3\n",
        "two": "ein 1 2\nzwei 3 4\n",
    }
    texts |= {"lm/options.json": "", "lm/weights.hdf5": "", "broken/results.json": "{"}
    for name, text in texts.items():
        Path(name).write_text(text)
    for name in "head.npz", "results.json":
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


def test_a_share_of_one_file_is_held_out():
    path = Path("train.conllu")
    settings = Settings(train=path, output=Path("out"), dev_share=0.2, limit=7)
    data = read_data(Tagging(kind="pos"), settings)
    everything = read_conllu("train.conllu")
    assert data.dev == [everything[i] for i in (4, 9, 14, 19)]
    assert data.train == everything[:4] + everything[5:8]
    assert data.test == []


@pytest.fixture
def with_vectors(monkeypatch, eager_tasks):
    """A command that trains with word vectors for one step."""
    # "The" is frequent, "cat" occurs once; "bird" is in the development text only.
    Path("train").write_text("The O\ncat B-X\n\nThe O\nsun B-X\n\n")
    Path("dev").write_text("a O\nBird B-X\n\n")
    Path("vectors").write_text("Bird 1 2 3\ncat 4 5 6\nmoon 7 8 9\n")

    def step(model, batches, score, *, save, **_):
        rows = range(len(batches.examples))
        loss = model.train_on_batch(batches.inputs(rows), batches.targets(rows))
        save()
        return {"dev": score(), "losses": [float(loss)], "epochs": 1, "best_epoch": 1}

    monkeypatch.setattr(fit, "fit_until_best", step)
    given = "--train train --dev dev --output out --no-crf --units 3 --character-dim 2"
    given = f"{given} --model none --dropout 0 --learning-rate 0.1".split()
    return lambda options: tag(replaced(given, options.split()))


@pytest.mark.slow
def test_vectors_are_those_of_the_file_and_trained_unless_they_are_frozen(
    with_vectors, model_directory, capsys
):
    frozen = f"--word-vectors vectors --freeze-word-vectors --model {model_directory}"
    assert with_vectors(frozen) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("2 of 5 words have a vector\n")
    layer = keras.models.load_model("out/model.keras").token_vectors
    table = layer.word_vectors.embeddings.numpy()
    assert layer.words == ("the", "bird", "cat") and layer.word_dim == 3
    np.testing.assert_array_equal(table[2:], [[1, 2, 3], [4, 5, 6]])
    assert np.ptp(table[:2]) > 0.1  # random, for unknown words and "the"
    assert not layer.word_vectors.trainable and layer.elmo is not None
    assert results()["settings"]["word_dim"] == 3
    assert results()["settings"]["freeze_word_vectors"] is True
    RESULTS.unlink()
    assert with_vectors("--word-vectors vectors --word-dim 3") == 0
    layer = keras.models.load_model("out/model.keras").token_vectors
    table = layer.word_vectors.embeddings.numpy()
    np.testing.assert_array_equal(table[2], [1, 2, 3])  # not in the training text
    change = np.abs(table[3] - [4, 5, 6])
    assert np.all(change > 0.01) and np.all(change < 0.2)


@pytest.mark.slow
def test_runs_with_other_vectors_are_other_runs(with_vectors, capsys):
    def refused(options):
        assert with_vectors(options) == 2
        return capsys.readouterr().err

    vectors = "--word-vectors vectors"
    assert with_vectors("--word-dim 3") == 0
    assert "word_vectors None; this run has " in refused(vectors)
    RESULTS.unlink()
    assert with_vectors(vectors) == 0
    before = RESULTS.read_bytes()
    frozen = refused(f"{vectors} --freeze-word-vectors")
    assert "freeze_word_vectors False; this run has True" in frozen
    text = Path("vectors").read_text()
    Path("vectors").write_text(f"{text}stars 0 0 0\n")  # not in the text
    assert with_vectors(vectors) == 0 and RESULTS.read_bytes() == before
    Path("vectors").write_text(text.replace("5", "0"))
    assert "made with word_vectors " in refused(vectors)
    assert "; this run has 100. Name another folder." in refused("")


@pytest.mark.parametrize(
    ("tokens", "name"),
    [("Ann lives in York", "en"), ("그는 서울 Seoul 에 갔다", "ko"), ("1990 .", "en")],
)
def test_without_a_model_the_packages_is_found_by_the_script(tokens, name):
    assert fit.package_model([tokens.split()]) == name


def test_other_scripts_need_the_name_of_a_model(capsys):
    Path("train.conllu").write_text("1\tдом\t_\tNOUN" + 6 * "\t_" + "\n\n")
    assert run("--dev", "train.conllu", "--model", "auto") == 2
    assert "--model should be given: " in capsys.readouterr().err


def test_the_mixes_are_made_and_start_as_the_settings_say(model_directory):
    one = Settings(train=Path("x"), output=Path("y"), model=model_directory)
    two = dataclasses.replace(one, elmo_at="both", no_layer_norm=True)
    mixes = [fit._elmo_layer(settings).mixes for settings in (one, two)]
    assert [[mix.layer_norm for mix in row] for row in mixes] == [[True], [False] * 2]
    assert mixes[0][0].gamma == 1


class Line:
    """Batches of points on a line."""

    def shuffled(self, seed, epoch):
        x = np.float32([[1.0], [2.0], [3.0], [4.0]])
        return tf.data.Dataset.from_tensor_slices((x, 2 * x)).batch(2)


@pytest.fixture
def model():
    model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="zeros")])
    model.compile(keras.optimizers.SGD(0.01), loss="mse", run_eagerly=True)
    model.build((None, 1))
    return model


def test_training_ends_when_the_score_no_longer_rises(model):
    found = iter([0.0, 0.5, 0.4, 0.4, 0.9])
    kept, saved = [], []

    def score():
        kept.append(model.get_weights()[0])
        return {"F1": next(found)}

    def save():
        saved.append(len(kept))

    fitted = fit_until_best(model, Line(), score, epochs=9, patience=2, save=save)
    assert (fitted["best_epoch"], fitted["epochs"]) == (2, 4)
    assert fitted["dev"] == {"F1": 0.5} and len(fitted["losses"]) == 4
    np.testing.assert_array_equal(model.get_weights()[0], kept[1])
    assert np.any(kept[1] != kept[3]) and saved == [1, 2]


def test_a_score_may_calibrate_the_model_that_is_kept_and_not_training(model):
    bias = model.layers[0].bias
    fit_until_best(model, Line(), lambda: {"F1": 0.0}, epochs=3, patience=3)
    expected = bias.numpy()
    for variable in model.weights:
        variable.assign(tf.zeros_like(variable))

    def score():
        bias.assign_add([7.0])
        return {"F1": 0.0}

    fit_until_best(model, Line(), score, epochs=3, patience=3)
    np.testing.assert_allclose(bias.numpy(), expected + 7, rtol=1e-6)


def test_training_continues_with_equal_scores_and_a_falling_loss(model):
    fitted = fit_until_best(model, Line(), lambda: {"F1": 0.0}, epochs=3, patience=1)
    losses = fitted["losses"]
    assert losses == sorted(losses, reverse=True) and fitted["best_epoch"] == 3


def test_a_loss_that_is_not_a_number_is_an_error(model):
    model.layers[0].bias.assign([np.nan])
    with pytest.raises(FloatingPointError, match="loss of epoch 1 is nan"):
        fit_until_best(model, Line(), dict, epochs=2, patience=2)
