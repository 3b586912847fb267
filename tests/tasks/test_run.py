"""The commands of tasks: what they write, resume and refuse."""

import json
import os
import shutil
from pathlib import Path

import h5py
import keras
import numpy as np
import pytest

from elmo_keras.tasks import run
from elmo_keras.tasks.data import read_data
from elmo_keras.tasks.fitting import Training
from elmo_keras.tasks.results import read_results, results_table
from elmo_keras.tasks.tag.tagged_text import read_conllu
from elmo_keras.tasks.tag.task import Tagging
from tests.support.commands import command as command_named
from tests.support.commands import replaced
from tests.support.task_models import run_command, task_of

layer_weights = command_named("layer-weights")
WORDS = {"the": "DET", "a": "DET", "cat": "NOUN", "dog": "NOUN", "sees": "VERB"}
RESULTS = Path("out/results.json")


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


def command(*more):
    given = "--train train.conllu --dev dev.conllu --output out --no-crf --units 5"
    sizes = "--word-dim 4 --character-dim 2 --epochs 2 --learning-rate 0.05"
    return run_command(Tagging, replaced(f"{given} {sizes}".split(), more))


def test_a_run_leaves_a_model_that_tags_and_a_record(model_directory, capsys):
    more = "--model", model_directory, "--test", "dev.conllu", "--elmo-at", "both"
    assert command(*more, "--limit", 19) == 0
    (record,) = read_results(RESULTS)
    assert (record["variant"], record["seed"]) == ("elmo-lm-both", 1)
    assert record["cached"] and record["examples"] == 19
    for place in ("input", "output"):
        assert sum(record["mixes"][place]["weights"]) == pytest.approx(1, abs=1e-5)
    assert record["dev"] == record["test"]  # the same file
    assert record["losses"][1] < record["losses"][0]
    names = sorted(os.listdir("out"))
    assert names == ["elmo-lm-both-1.keras", "results.json"]
    tagger = keras.models.load_model(f"out/{names[0]}")
    tagger.run_eagerly = True  # one batch: no graph to trace
    examples = read_conllu("dev.conllu")
    tags = tagger.tag([example["tokens"] for example in examples])
    pairs = [p for e, t in zip(examples, tags) for p in zip(e["tags"], t)]
    accuracy = sum(gold == own for gold, own in pairs) / len(pairs)
    assert accuracy == pytest.approx(record["dev"]["accuracy"])
    printed = capsys.readouterr().out
    assert results_table(read_results(RESULTS)) in printed
    assert printed.count("their root mean squares, from layer 0 on: ") == 1


def untrained(monkeypatch, interrupted_at=None):
    """Skips training, with Ctrl-C at a given run; returns the list of seeds."""
    made = []

    def fit(model, batches, score, *, epochs, patience, seed):
        made.append(seed)
        if len(made) == interrupted_at:
            raise KeyboardInterrupt
        return Training({"accuracy": 0.5}, 1, 1, [2.0], 0.1)

    monkeypatch.setattr(run, "fit_until_best", fit)
    return made


def test_the_same_command_trains_only_what_is_missing(monkeypatch, capsys):
    made = untrained(monkeypatch, interrupted_at=2)
    assert command("--seeds", 1, 2) == 130
    interrupted = "elmo-keras tag: Interrupted. The same command resumes.\n"
    assert capsys.readouterr().err == interrupted
    (first,) = read_results(RESULTS)
    assert sorted(os.listdir("out")) == ["baseline-1.keras", "results.json"]
    assert command("--seeds", 1, 2) == 0
    assert read_results(RESULTS)[0] == first and made == [1, 2, 2]
    assert [record["seed"] for record in read_results(RESULTS)] == [1, 2]
    assert command("--seeds", 1, 2) == 0 and made == [1, 2, 2]


@pytest.mark.slow
def test_failures_after_the_start_have_status_1(monkeypatch, capsys):
    def diverging(*_, **__):
        raise FloatingPointError("The loss of epoch 1 is nan.")

    def full(*_):
        raise PermissionError("no space left")

    monkeypatch.setattr(run, "fit_until_best", diverging)
    assert command() == 1
    untrained(monkeypatch)
    monkeypatch.setattr(run, "write_results", full)
    assert command() == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first == "elmo-keras tag: The loss of epoch 1 is nan."
    assert second == "elmo-keras tag: no space left"


def test_another_run_under_the_same_name_is_refused(capsys, monkeypatch):
    untrained(monkeypatch)
    assert command() == 0
    before = RESULTS.read_bytes()
    assert command("--batch-size", 7) == 2
    assert "made with batch_size 32; this run has 7" in capsys.readouterr().err
    conllu("train.conllu", 31, 2)
    assert command() == 2
    assert "made with data " in capsys.readouterr().err
    assert RESULTS.read_bytes() == before


def test_a_model_that_has_changed_since_a_run_is_refused(
    model_directory, monkeypatch, capsys
):
    untrained(monkeypatch)
    shutil.copytree(model_directory, "lm")
    assert command("--model", "lm", "--no-cache") == 0
    before = read_results(RESULTS)
    assert not before[0]["cached"]
    assert command("--model", "lm", "--no-cache") == 0
    assert read_results(RESULTS) == before
    with h5py.File("lm/weights.hdf5", "r+") as weights:
        weights["CNN_proj/b_proj"][0] += 1
    assert command("--model", "lm", "--no-cache") == 2
    assert "made with weights " in capsys.readouterr().err
    assert read_results(RESULTS) == before


@pytest.fixture
def inputs(folder):
    """Further files: returns a function that reads them all."""
    for name in ("lm", "of_other", "broken", "linked", "taken/baseline-1.keras"):
        Path(name).mkdir(parents=True)
    for name in ("options.json", "weights.hdf5"):
        Path("lm", name).write_text("{}")
    record = {"task": "classify", "variant": "baseline", "seed": 7, "dev": {}}
    Path("of_other/results.json").write_text(json.dumps([record]))
    Path("broken/results.json").write_text("{")
    Path("bad.conllu").write_text("1\tword\n")
    for name in ("results.json", "baseline-1.keras"):
        os.link("train.conllu", f"linked/{name}")
    Path("linked/link").symlink_to("results.json")
    Path("results.png").write_text("[]")  # a name that a picture may have
    Path("three").write_text("the 1 2 3\n")
    Path("two").write_text("ein 1 2\nzwei 3 4\n")

    def tree():
        files = (path for path in folder.rglob("*") if path.is_file())
        return {path: path.read_bytes() for path in files}

    return tree


def check_refused(status, problem, capsys, inputs, before):
    """The command ends with one line, and leaves all files as they were."""
    error = capsys.readouterr().err
    assert status == 2 and error.count("\n") == 1 and problem in error
    assert inputs() == before and not Path("out").exists()


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("dev.conllu", "dev.conllu should be a folder, but is none"),
        ("dev.conllu/out", "dev.conllu should be a folder for dev.conllu/out"),
        ("/proc", "Nothing can be written to the folder /proc"),
        ("taken", "taken/baseline-1.keras should be a file, but is a folder"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_read(
    monkeypatch, capsys, inputs, output, problem
):
    monkeypatch.setattr(run, "read_data", None)
    before = inputs()
    check_refused(command("--output", output), problem, capsys, inputs, before)
    more = f"--train dev.conllu --output {output} --table mixes --model lm".split()
    check_refused(command(*more), problem, capsys, inputs, before)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        *(
            (
                f"--train linked/{name} --output linked",
                "The output linked/results.json is an input",
            )
            for name in ("results.json", "baseline-1.keras", "link")
        ),
        ("--output of_other", "of_other/results.json has runs of another task: class"),
        ("--output broken", "should hold the results of a task"),
        ("--model nothing", "nothing"),
        ("--test none.conllu", "none.conllu"),
        ("--train bad.conllu", "elmo-keras tag: bad.conllu:1: 10 columns"),
        ("--dev bad.conllu", "elmo-keras tag: bad.conllu:1: 10 columns"),
        ("--word-vectors three", "have 3 dimensions, but --word-dim"),
        ("--word-vectors two", "two has none of the 5 words of the examples"),
        ("--word-vectors dev.conllu", "dev.conllu should hold word vectors"),
        ("--word-vectors absent", "absent"),
        ("--freeze-word-vectors", "--freeze-word-vectors needs --word-vectors FILE"),
        ("--word-vectors out/results.json", "output out/results.json is an input"),
    ],
)
def test_what_cannot_be_used_ends_a_command_with_one_line(
    capsys, inputs, options, problem
):
    before = inputs()
    if options.endswith("two"):
        options += " --word-dim 2"
    check_refused(command(*options.split()), problem, capsys, inputs, before)


@pytest.mark.parametrize(
    ("picture", "problem"),
    [
        ("picture.doc", "A picture should end in one of .png"),
        ("lm/curves.png", "The output lm/curves.png is an input"),
    ],
)
def test_a_picture_is_checked_before_the_runs(
    monkeypatch, capsys, inputs, picture, problem
):
    monkeypatch.setattr(run, "run", None)
    before = inputs()
    status = command(*"--table shares --model lm --picture".split(), picture)
    check_refused(status, problem, capsys, inputs, before)


def test_a_picture_does_not_replace_the_results(capsys, inputs):
    before = inputs()
    status = layer_weights(["results.png", "--picture", "./results.png"])
    check_refused(status, "is an input", capsys, inputs, before)


def test_a_wrong_command_line_names_the_command(capsys):
    assert run_command(Tagging, ["--train", "x"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("elmo-keras tag: ") and "--output" in error
    assert error.endswith(" See elmo-keras tag --help\n")


def test_a_share_of_one_file_is_held_out():
    train = Path("train.conllu")
    data = read_data(task_of(Tagging, train=train, dev_share=0.2, limit=7))
    everything = read_conllu("train.conllu")
    assert data.dev == [everything[i] for i in (4, 9, 14, 19)]
    assert data.train == everything[:4] + everything[5:8]
    assert data.test == []


@pytest.fixture
def with_vectors(monkeypatch):
    """A command that trains with word vectors for one step, eagerly."""
    # "The" is frequent, "cat" occurs once; "bird" is in the development text only.
    Path("train").write_text("The O\ncat B-X\n\nThe O\nsun B-X\n\n")
    Path("dev").write_text("a O\nBird B-X\n\n")
    Path("vectors").write_text("Bird 1 2 3\ncat 4 5 6\nmoon 7 8 9\n")

    def fit(model, batches, score, **_):
        model.run_eagerly = True
        rows = range(len(batches.examples))
        loss = model.train_on_batch(batches.inputs(rows), batches.targets(rows))
        return Training(score(), 1, 1, [float(loss)], 0.1)

    monkeypatch.setattr(run, "fit_until_best", fit)
    given = "--train train --dev dev --output out --no-crf --units 3 --character-dim 2"
    given = f"{given} --dropout 0 --learning-rate 0.1".split()
    return lambda options: run_command(Tagging, [*given, *options.split()])


def table_of(file):
    """The loaded model of a run, and its table of word vectors."""
    tagger = keras.models.load_model(f"out/{file}-1.keras")
    return tagger, tagger.token_vectors.word_vectors.embeddings.numpy()


@pytest.mark.slow
def test_vectors_are_those_of_the_file_and_trained_unless_they_are_frozen(
    with_vectors, model_directory, capsys
):
    frozen = f"--word-vectors vectors --freeze-word-vectors --model {model_directory}"
    assert with_vectors(frozen) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("2 of 5 words have a vector in vectors\n")
    tagger, table = table_of("elmo-lm")
    layer = tagger.token_vectors
    assert layer.words == ("the", "bird", "cat") and layer.word_dim == 3
    np.testing.assert_array_equal(table[2:], [[1, 2, 3], [4, 5, 6]])
    assert np.ptp(table[:2]) > 0.1  # random, for unknown words and "the"
    assert not layer.word_vectors.trainable and layer.elmo is not None
    (record,) = read_results(RESULTS)
    assert record["settings"]["word_dim"] == 3
    assert record["settings"]["freeze_word_vectors"] is True
    Path("out/results.json").unlink()
    assert with_vectors("--word-vectors vectors --word-dim 3") == 0
    _, table = table_of("baseline")
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
    assert "; this run has 100. Give another --output." in refused("")


def test_variants_are_named_by_their_settings_that_are_not_the_default(tmp_path):
    for settings, name in (
        ({"share": 0.25}, "elmo-lm-share-0.25"),
        ({"elmo_at": "output", "layers": "top"}, "elmo-lm-output-top"),
        (
            {"layers": 1, "l2": 1.0, "elmo_dropout": 0.1},
            "elmo-lm-layer-1-l2-1-dropout-0.1",
        ),
        ({"layer_norm": True, "fine_tune": True}, "elmo-lm-normalised-tuned"),
        ({"gamma": 0.1, "arithmetic": "int8"}, "elmo-lm-gamma-0.1-int8"),
        ({"arithmetic": "float32"}, "elmo-lm"),
    ):
        task = task_of(Tagging, elmo=[tmp_path / "lm"], baseline=True, **settings)
        share = "-share-0.25" if "share" in settings else ""
        names = [variant.variant for variant in task.variants()]
        assert names == [f"baseline{share}", name]


def test_the_mixes_of_a_variant_are_made_and_start_as_it_says(model_directory):
    elmo = task_of(Tagging, elmo=[model_directory]).elmo_layer()
    assert not elmo.mixes[0].layer_norm and elmo.mixes[0].gamma == 1
    settings = {"elmo_at": "both", "layer_norm": True, "gamma": 0.5}
    mixes = task_of(Tagging, elmo=[model_directory], **settings).elmo_layer().mixes
    assert all(mix.layer_norm and mix.gamma == 0.5 for mix in mixes) and mixes[1:]


def test_the_table_has_means_deviations_and_gains():
    runs = [
        {
            "variant": variant,
            "seed": seed,
            "dev": {"F1": score},
            "test": {},
            "seconds_per_epoch": 2.0,
        }
        for variant, seed, score in (
            ("baseline", 1, 0.50),
            ("baseline", 2, 0.52),
            ("elmo-lm", 1, 0.61),
            ("elmo-lm", 2, 0.61),
            ("elmo-ko", 1, 0.4),
        )
    ]
    assert results_table(runs).splitlines() == [
        "| variant  | seeds |       dev F1 | s/epoch |   gain |",
        "| -------- | ----: | -----------: | ------: | -----: |",
        "| baseline |     2 | 51.00 ± 1.41 |     2.0 |        |",
        "| elmo-lm  |     2 | 61.00 ± 0.00 |     2.0 | +10.00 |",
        "| elmo-ko  |     1 |        40.00 |     2.0 | -11.00 |",
    ]
