"""The commands of tasks: what they write, go on with, and refuse."""

import json

import keras
import numpy as np
import pytest
from conftest import randomize

from elmo_keras import BidirectionalLanguageModel, ElmoConfig
from elmo_keras.model_directory import save_model
from elmo_keras.tasks import tag
from elmo_keras.tasks.experiments import experiment
from elmo_keras.tasks.experiments.early_stopping import Fitted
from elmo_keras.tasks.experiments.experiment import main
from elmo_keras.tasks.experiments.results import read_results, results_table
from elmo_keras.tasks.experiments.variants import Variant

WORDS = {"the": "DET", "a": "DET", "cat": "NOUN", "dog": "NOUN", "sees": "VERB"}


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
    """Training and development text, and a biLM in tmp_path/lm."""
    bilm = BidirectionalLanguageModel(ElmoConfig.preset("test"))
    bilm.build()
    save_model(tmp_path / "lm", randomize(bilm))
    return conllu(tmp_path / "train.conllu", 30, 0), conllu(
        tmp_path / "dev.conllu", 9, 1
    )


def command(files, *more):
    train, dev = files
    folder = train.parent
    sizes = "--units 5 --word-dim 4 --character-dim 2 --epochs 2 --learning-rate 0.05"
    options = ["--train", train, "--dev", dev, "--output", folder / "out", *more]
    return main(tag.TASK, "", [*map(str, options), *sizes.split()])


def records(files):
    return read_results(files[0].parent / "out" / "results.json")


def test_a_run_leaves_a_model_that_tags_and_a_record(files, tmp_path, capsys):
    more = "--elmo", tmp_path / "lm", "--test", files[1], "--elmo-at", "both"
    assert command(files, *more) == 0
    (record,) = records(files)
    assert (record["variant"], record["seed"]) == ("elmo-lm-both", 1)
    assert record["cached"] and record["examples"] == 30
    for place in ("input", "output"):
        assert sum(record["mixes"][place]["weights"]) == pytest.approx(1, abs=1e-5)
    assert record["dev"] == record["test"]  # the same file
    assert record["losses"][1] < record["losses"][0]
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["elmo-lm-both-1.keras", "results.json"]
    tagger = keras.models.load_model(tmp_path / "out" / names[0])
    examples = tag.read_conllu(files[1])
    tags = tagger.tag([example["tokens"] for example in examples])
    pairs = [p for e, t in zip(examples, tags) for p in zip(e["tags"], t)]
    accuracy = sum(gold == own for gold, own in pairs) / len(pairs)
    assert accuracy == pytest.approx(record["dev"]["accuracy"])
    assert results_table(records(files)) in capsys.readouterr().out


def test_the_baseline_stands_before_elmo(files, tmp_path, monkeypatch, capsys):
    untrained(monkeypatch)
    more = "--elmo", tmp_path / "lm", "--baseline", "--no-cache", "--limit", 3
    assert command(files, *more) == 0
    baseline, elmo = records(files)
    assert (baseline["variant"], elmo["variant"]) == ("baseline", "elmo-lm")
    assert baseline["mixes"] == {} and elmo["mixes"]["input"]["gamma"] == 1
    assert not baseline["cached"] and not elmo["cached"] and elmo["examples"] == 3
    assert "elmo-lm   1" in capsys.readouterr().out


def test_the_same_command_makes_only_what_is_missing(files, tmp_path, monkeypatch):
    made = untrained(monkeypatch, interrupted_at=2)
    assert command(files, "--seeds", 1, 2) == 130
    (first,) = records(files)
    names = [path.name for path in (tmp_path / "out").iterdir()]
    assert sorted(names) == ["baseline-1.keras", "results.json"]
    assert command(files, "--seeds", 1, 2) == 0
    assert records(files)[0] == first and made == [1, 2, 2]
    assert [record["seed"] for record in records(files)] == [1, 2]
    assert command(files, "--seeds", 1, 2) == 0 and made == [1, 2, 2]


def untrained(monkeypatch, interrupted_at=None):
    """Leaves out the training, at a given one with Ctrl-C; returns the seeds made."""
    made = []

    def fit(model, batches, score, epochs, patience, seed, verbose):
        made.append(seed)
        if len(made) == interrupted_at:
            raise KeyboardInterrupt
        return Fitted({"accuracy": 0.5}, 1, 1, [2.0], 0.1)

    monkeypatch.setattr(experiment, "fit_until_best", fit)
    return made


def test_another_run_under_the_same_name_is_refused(files, capsys, monkeypatch):
    untrained(monkeypatch)
    assert command(files) == 0
    before = records(files)
    assert command(files, "--batch-size", 7) == 2
    assert "batch_size was 32, now it is 7" in capsys.readouterr().err
    conllu(files[0], 31, 2)
    assert command(files) == 2
    assert "data was" in capsys.readouterr().err and records(files) == before


@pytest.mark.parametrize("place", ["train", "dev"])
def test_a_malformed_file_is_told_and_leaves_nothing(files, tmp_path, capsys, place):
    path = tmp_path / f"{place}.conllu"
    path.write_text(path.read_text() + "1\tword\n")
    line = len(path.read_text().splitlines())
    assert command(files) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"elmo_keras.tasks.tag: {path}:{line}: 10 columns")
    assert error.count("\n") == 1 and not (tmp_path / "out").exists()


def test_what_is_missing_is_told(files, tmp_path, capsys):
    assert command(files, "--elmo", tmp_path / "nothing") == 2
    assert "nothing" in capsys.readouterr().err
    assert command(files, "--test", tmp_path / "none.conllu") == 2
    assert "none.conllu" in capsys.readouterr().err and not (tmp_path / "out").exists()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "results.json").write_text("{")
    assert command(files) == 2
    assert "should hold the results of a task" in capsys.readouterr().err


def test_a_share_of_one_file_is_held_out(files):
    arguments = tag_arguments(files, "--dev-share", "0.2", "--limit", "7")
    data = experiment.read_data(tag.TASK, arguments)
    everything = tag.read_conllu(files[0])
    assert data.dev == [*everything[8:10], *everything[18:20], *everything[28:]]
    assert data.train == everything[:7]
    assert data.test == []


def tag_arguments(files, *more):
    parser = experiment.experiment_arguments.parser("tag", "")
    tag.add_arguments(parser)
    return parser.parse_args(["--train", str(files[0]), "--output", "out", *more])


def test_variants_are_named_by_what_is_not_usual(tmp_path):
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
        (Variant(lm, fine_tune=True), "elmo-lm-tuned"),
    ):
        assert variant.name == name


def test_the_table_has_means_spreads_and_gains(tmp_path):
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
        )
    ]
    assert results_table(json.loads(json.dumps(runs))).splitlines() == [
        "variant   seeds  dev F1        s/epoch  gain",
        "baseline  2      51.00 ± 1.41  2.0",
        "elmo-lm   2      61.00 ± 0.00  2.0      +10.00",
    ]
