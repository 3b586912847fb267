"""The commands of tasks: what they write, resume and refuse."""

import importlib
import json
import shutil

import h5py
import keras
import numpy as np
import pytest

from elmo_keras.tasks.answer import __main__ as answer
from elmo_keras.tasks.experiments import experiment, experiment_arguments
from elmo_keras.tasks.experiments.experiment import main
from elmo_keras.tasks.experiments.experiment_arguments import Variant
from elmo_keras.tasks.experiments.fitting import Fitted
from elmo_keras.tasks.experiments.results import read_results, results_table
from elmo_keras.tasks.tag import __main__ as tag
from elmo_keras.tasks.tag.tagged_text import read_conllu
from tests.support.task_models import questions

WORDS = {"the": "DET", "a": "DET", "cat": "NOUN", "dog": "NOUN", "sees": "VERB"}
# The settings of a run, in the order of `results.json`.
SHARED = (
    "dev_share limit share elmo elmo_at scheme l2 layer_norm gamma elmo_dropout "
    "fine_tune epochs patience batch_size learning_rate dropout word_dim word_vectors "
    "freeze_word_vectors character_dim"
).split()
OF_TASKS = {
    "tag": "kind units lstm_dropout no_crf",
    "classify": "format labels split units lstm_dropout",
    "entail": "format split units lstm_dropout",
    "similarity": "split units lstm_dropout",
    "answer": "units layer_dropout scores longest_answer",
    "coreference": (
        "units hidden_units layer_dropout longest mentions_per_token most_antecedents "
        "sentences no_singletons"
    ),
}


def conllu(path, n, seed):
    """A file of sentences in which each word has one part of speech."""
    rng = np.random.default_rng(seed)
    with path.open("w") as file:
        for _ in range(n):
            for i, word in enumerate(rng.choice(list(WORDS), rng.integers(1, 6)), 1):
                print(i, word, "_", WORDS[word], *"______", sep="\t", file=file)
            print(file=file)
    return path


@pytest.fixture
def files(tmp_path):
    """Training and development text."""
    train, dev = tmp_path / "train.conllu", tmp_path / "dev.conllu"
    return conllu(train, 20, 0), conllu(dev, 9, 1)


def command(files, *more):
    train, dev = files
    folder = train.parent
    sizes = "--no-crf --units 5 --word-dim 4 --character-dim 2 --epochs 2 --learning-rate 0.05"
    options = ["--train", train, "--dev", dev, "--output", folder / "out", *more]
    return main(tag.TASK, "", [*map(str, options), *sizes.split()])


def records(files):
    return read_results(files[0].parent / "out" / "results.json")


def test_a_run_leaves_a_model_that_tags_and_a_record(
    files, model_directory, tmp_path, capsys
):
    more = "--elmo", model_directory, "--test", files[1], "--elmo-at", "both"
    assert command(files, *more) == 0
    (record,) = records(files)
    assert (record["variant"], record["seed"]) == ("elmo-lm-both", 1)
    assert record["cached"] and record["examples"] == 20
    for place in ("input", "output"):
        assert sum(record["mixes"][place]["weights"]) == pytest.approx(1, abs=1e-5)
    assert record["dev"] == record["test"]  # the same file
    assert record["losses"][1] < record["losses"][0]
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["elmo-lm-both-1.keras", "results.json"]
    tagger = keras.models.load_model(tmp_path / "out" / names[0])
    tagger.run_eagerly = True  # one batch: no graph to trace
    examples = read_conllu(files[1])
    tags = tagger.tag([example["tokens"] for example in examples])
    pairs = [p for e, t in zip(examples, tags) for p in zip(e["tags"], t)]
    accuracy = sum(gold == own for gold, own in pairs) / len(pairs)
    assert accuracy == pytest.approx(record["dev"]["accuracy"])
    printed = capsys.readouterr().out
    assert results_table(records(files)) in printed
    assert printed.count("their root mean squares, from layer 0 on: ") == 1


@pytest.mark.slow
def test_the_baseline_comes_before_elmo(
    files, model_directory, tmp_path, monkeypatch, capsys
):
    untrained(monkeypatch)
    more = "--elmo", model_directory, "--baseline", "--no-cache", "--limit", 3
    assert command(files, *more) == 0
    baseline, elmo = records(files)
    assert (baseline["variant"], elmo["variant"]) == ("baseline", "elmo-lm")
    assert baseline["mixes"] == {} and elmo["mixes"]["input"]["gamma"] == 1
    assert not baseline["cached"] and not elmo["cached"] and elmo["examples"] == 3
    assert "| elmo-lm  |     1 |" in capsys.readouterr().out


def test_the_same_command_trains_only_what_is_missing(
    files, tmp_path, monkeypatch, capsys
):
    made = untrained(monkeypatch, interrupted_at=2)
    assert command(files, "--seeds", 1, 2) == 130
    interrupted = "elmo_keras.tasks.tag: Interrupted. The same command resumes.\n"
    assert capsys.readouterr().err == interrupted
    (first,) = records(files)
    names = [path.name for path in (tmp_path / "out").iterdir()]
    assert sorted(names) == ["baseline-1.keras", "results.json"]
    assert command(files, "--seeds", 1, 2) == 0
    assert records(files)[0] == first and made == [1, 2, 2]
    assert [record["seed"] for record in records(files)] == [1, 2]
    assert command(files, "--seeds", 1, 2) == 0 and made == [1, 2, 2]


def untrained(monkeypatch, interrupted_at=None):
    """Skips training, with Ctrl-C at a given run; returns the list of seeds."""
    made = []

    def fit(model, batches, score, *, epochs, patience, seed, verbose):
        made.append(seed)
        if len(made) == interrupted_at:
            raise KeyboardInterrupt
        return Fitted({"accuracy": 0.5}, 1, 1, [2.0], 0.1)

    monkeypatch.setattr(experiment, "fit_until_best", fit)
    return made


def test_a_run_from_before_there_was_a_choice_has_the_usual_setting(
    tmp_path, monkeypatch, capsys
):
    made = untrained(monkeypatch)
    path = tmp_path / "train.json"
    path.write_text(questions(("Ann left.", "Who?", "Ann")))
    options = f"--train {path} --dev {path} --output {tmp_path}/out --units 2"
    options = f"{options} --word-dim 2 --character-dim 2 --longest-answer".split()
    assert main(answer.TASK, "", [*options, "16"]) == 0
    results = tmp_path / "out" / "results.json"
    records = json.loads(results.read_text())
    assert records[0]["settings"].pop("longest_answer") == 16
    results.write_text(json.dumps(records))
    assert main(answer.TASK, "", [*options, "16"]) == 0 and made == [1]
    capsys.readouterr()
    assert main(answer.TASK, "", [*options, "30"]) == 2
    assert "made with longest_answer 16; this run has 30" in capsys.readouterr().err


@pytest.mark.slow
def test_failures_after_the_start_have_status_1(files, monkeypatch, capsys):
    def diverging(*_, **__):
        raise FloatingPointError("The loss of epoch 1 is nan.")

    def full(*_):
        raise PermissionError("no space left")

    monkeypatch.setattr(experiment, "fit_until_best", diverging)
    assert command(files) == 1
    untrained(monkeypatch)
    monkeypatch.setattr(experiment, "write_results", full)
    assert command(files) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first == "elmo_keras.tasks.tag: The loss of epoch 1 is nan."
    assert second == "elmo_keras.tasks.tag: no space left"


def test_another_run_under_the_same_name_is_refused(files, capsys, monkeypatch):
    untrained(monkeypatch)
    assert command(files) == 0
    before = records(files)
    assert command(files, "--batch-size", 7) == 2
    assert "made with batch_size 32; this run has 7" in capsys.readouterr().err
    conllu(files[0], 31, 2)
    assert command(files) == 2
    assert "made with data " in capsys.readouterr().err and records(files) == before


def test_a_model_that_has_changed_since_a_run_is_refused(
    files, model_directory, tmp_path, monkeypatch, capsys
):
    untrained(monkeypatch)
    lm = shutil.copytree(model_directory, tmp_path / "lm")
    assert command(files, "--elmo", lm, "--no-cache") == 0
    before = records(files)
    assert command(files, "--elmo", lm, "--no-cache") == 0 and records(files) == before
    with h5py.File(lm / "weights.hdf5", "r+") as weights:
        weights["CNN_proj/b_proj"][0] += 1
    assert command(files, "--elmo", lm, "--no-cache") == 2
    assert f"made with weights of {lm} " in capsys.readouterr().err
    assert records(files) == before
    del before[0]["model"]  # as older versions wrote it
    (tmp_path / "out" / "results.json").write_text(json.dumps(before))
    assert command(files, "--elmo", lm, "--no-cache") == 0


def test_a_run_recorded_by_version_0_1_is_not_repeated(tmp_path, capsys):
    text = tmp_path / "text.conllu"
    lines = [
        "\t".join([str(i), word, "_", tag, *"______"])
        for i, (word, tag) in enumerate([("the", "DET"), ("run", "NOUN")], 1)
    ]
    text.write_text(("\n".join(lines) + "\n\n") * 9)
    values = [0.2, None, 1.0, None, "input", "learned", 0.001, 0.5, False, 1]
    values += [5, 32, 0.003, 0.3, 100, 64, None, 100, 0.3, False, "f790acdf7fb87aa2"]
    later = "word_vectors", "freeze_word_vectors", "layer_norm", "gamma"
    names = [name for name in SHARED if name not in later]
    names += [*OF_TASKS["tag"].split(), "data"]
    record = {
        "task": "tag",
        "variant": "baseline",
        "seed": 1,
        "dev": {"accuracy": 0.5},
        "test": {},
        "seconds_per_epoch": 0.1,
        "settings": dict(zip(names, values, strict=True)),
    }
    results = tmp_path / "results.json"
    results.write_text(json.dumps([record]))
    before = results.read_bytes()
    options = f"--train {text} --dev {text} --output {tmp_path} --epochs 1"
    assert main(tag.TASK, "", options.split()) == 0
    assert results.read_bytes() == before
    assert "| baseline |     1 |        50.00 |" in capsys.readouterr().out


@pytest.mark.parametrize("name", OF_TASKS)
def test_settings_are_recorded_by_the_names_of_the_options(name):
    task = importlib.import_module(f"elmo_keras.tasks.{name}.__main__").TASK
    assert task.name == name
    options = parsed(task, "--train", "x", "--output", "y")
    assert list(options.settings()) == [*SHARED, *OF_TASKS[name].split()]


def parsed(task, *arguments):
    parser = experiment_arguments.parser(task.name, task, "")
    options, others = experiment_arguments.parse(parser, task, arguments)
    assert not others
    return options


@pytest.mark.parametrize("place", ["train", "dev"])
def test_a_malformed_file_is_an_error_and_leaves_nothing(
    files, tmp_path, capsys, place
):
    path = tmp_path / f"{place}.conllu"
    path.write_text(path.read_text() + "1\tword\n")
    line = len(path.read_text().splitlines())
    assert command(files) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"elmo_keras.tasks.tag: {path}:{line}: 10 columns")
    assert error.count("\n") == 1 and not (tmp_path / "out").exists()


def test_errors_name_what_is_missing(files, tmp_path, capsys):
    assert command(files, "--elmo", tmp_path / "nothing") == 2
    assert "nothing" in capsys.readouterr().err
    assert command(files, "--test", tmp_path / "none.conllu") == 2
    assert "none.conllu" in capsys.readouterr().err and not (tmp_path / "out").exists()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "results.json").write_text("{")
    assert command(files) == 2
    assert "should hold the results of a task" in capsys.readouterr().err


def test_usage_names_the_command(capsys):
    with pytest.raises(SystemExit) as caught:
        main(tag.TASK, "", ["--train", "x"])
    assert caught.value.code == 2
    usage, *_, error = capsys.readouterr().err.splitlines()
    assert usage.startswith("usage: python -m elmo_keras.tasks.tag ")
    assert error.startswith("python -m elmo_keras.tasks.tag: error: ")


def test_a_share_of_one_file_is_held_out(files):
    given = "--train", str(files[0]), "--output", "out", "--dev-share", "0.2"
    options = parsed(tag.TASK, *given, "--limit", "7")
    data = experiment.read_data(tag.TASK, options)
    everything = read_conllu(files[0])
    assert data.dev == [everything[i] for i in (4, 9, 14, 19)]
    assert data.train == everything[:4] + everything[5:8]
    assert data.test == []


def test_variants_are_named_by_their_settings_that_are_not_the_default(tmp_path):
    lm = tmp_path / "lm"
    for variant, name in (
        (Variant(), "baseline"),
        (Variant(share=0.25), "baseline-share-0.25"),
        (Variant(lm), "elmo-lm"),
        (Variant(lm, "output", "top"), "elmo-lm-output-top"),
        (
            Variant(lm, scheme=1, l2=1.0, elmo_dropout=0.1),
            "elmo-lm-layer-1-l2-1-dropout-0.1",
        ),
        (Variant(lm, layer_norm=True, fine_tune=True), "elmo-lm-normalised-tuned"),
        (Variant(lm, gamma=0.1), "elmo-lm-gamma-0.1"),
    ):
        assert variant.name == name


def test_the_mixes_of_a_variant_are_made_and_start_as_it_says(model_directory):
    elmo = Variant(model_directory).layer()
    assert not elmo.mixes[0].layer_norm and elmo.mixes[0].gamma == 1
    chosen = Variant(model_directory, "both", layer_norm=True, gamma=0.5)
    mixes = chosen.layer().mixes
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
