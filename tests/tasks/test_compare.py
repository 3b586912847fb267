"""Comparisons of variants, their tables and pictures."""

import itertools
import json
import re
import subprocess
import sys

import keras
import numpy as np
import pytest

from elmo_keras.tasks import run
from elmo_keras.tasks.compare import paired_test
from elmo_keras.tasks.fitting import Training
from elmo_keras.tasks.tag.task import Tagging
from tests.support.commands import command as command_named
from tests.support.paths import ROOT
from tests.support.task_models import run_command

layer_weights, tag = command_named("layer-weights"), command_named("tag")
PNG = b"\x89PNG"


@pytest.fixture
def command(tmp_path, model_directory, conllu):
    """Options of a small tagger on eight short sentences."""
    path = conllu("train.conllu", [[("the", "DET"), ("run", "NOUN")]] * 8)
    options = f"--train {path} --dev {path} --model {model_directory} --epochs 1"
    options += f" --output {tmp_path}/out --units 2 --word-dim 2 --character-dim 2"
    return options.split()


@pytest.fixture
def runs(monkeypatch):
    """The variants of a comparison, whose records are made up."""
    asked = []

    def make_up(task, variants):
        asked.extend(variants)
        return [
            {
                "variant": variant.variant,
                "seed": seed,
                "dev": {"accuracy": variant.share / (2 if variant.elmo else 4)},
                "test": {},
                "examples": round(100 * variant.share),
                "seconds_per_epoch": 1.0,
                "mixes": {"input": {}} if variant.elmo else {},
                "settings": {"share": variant.share},
            }
            for variant in variants
            for seed in task.seeds
        ]

    monkeypatch.setattr(run, "run", make_up)
    return asked


MIXES = [("top", 0.001), ("average", 0.001), ("mix", 1.0), ("mix", 0.001)]


@pytest.mark.parametrize(
    ("table", "compared", "expected"),
    [
        ("mixes", lambda v: (v.layers, v.l2), MIXES),
        ("places", lambda v: v.elmo_at, ["input", "output", "both"]),
    ],
)
def test_the_rows_of_a_table_are_no_elmo_and_its_variants(
    command, runs, cells, table, compared, expected
):
    assert tag(["--table", table, *command]) == 0
    assert [bool(v.elmo) for v in runs] == [False] + [True] * len(expected)
    assert list(map(compared, runs[1:])) == expected
    head, _, *rows = cells()
    assert [row[0] for row in (head, *rows)] == ["variant", *(v.variant for v in runs)]
    assert {row[-1] for row in rows[1:]} == {"+25.00"}


def test_models_compares_no_elmo_and_each_model(command, runs, recorded, cells):
    more = "--model other --share 0.5 --paired --seeds 1 2".split()
    assert tag(["--table", "models", *command, *more]) == 0
    assert recorded == [f"{v.variant}-{seed}.keras" for v in runs for seed in (1, 2)]
    name = "share-0.5"
    rows = [f"baseline-{name}", f"elmo-lm-{name}", f"elmo-other-{name}"]
    assert [variant.variant for variant in runs] == rows
    printed = [row[0] for row in cells()]
    assert printed[2:5] == rows and printed[7:] == rows[:2]


def test_shares_are_printed_drawn_and_tested(command, runs, recorded, cells, tmp_path):
    picture = tmp_path / "shares.svg"
    more = f"--shares 0.5 1 --seeds 1 2 --picture {picture} --paired".split()
    assert tag(["--table", "shares", *command, *more]) == 0
    expected = [(elmo, share) for share in (0.5, 1.0) for elmo in (False, True)]
    assert [(bool(v.elmo), v.share) for v in runs] == expected
    rows = cells()
    assert rows[2:6] == [
        ["baseline-share-0.5", "2", "12.50 ± 0.00", "1.0"],
        ["elmo-lm-share-0.5", "2", "25.00 ± 0.00", "1.0", "+12.50"],
        ["baseline", "2", "25.00 ± 0.00", "1.0"],
        ["elmo-lm", "2", "50.00 ± 0.00", "1.0", "+25.00"],
    ]
    assert rows[6] == ["variant", "and", "difference", "p"]
    assert rows[8:] == [
        ["baseline-share-0.5", "elmo-lm-share-0.5", "+50.00", "0.004"],
        ["baseline", "elmo-lm", "+50.00", "0.004"],
    ]
    texts = {"mean ± standard deviation of 2 seeds", "dev accuracy (%)", "with ELMo"}
    assert texts | {"50%"} <= texts_of(picture)


@pytest.fixture
def untrained(monkeypatch):
    """Models are built and kept, but not trained."""

    def fit(model, batches, *_, **__):
        model(batches.inputs([0]))
        return Training({"accuracy": 0.5}, 1, 1, [1.0], 0.1)

    monkeypatch.setattr(run, "fit_until_best", fit)


@pytest.fixture
def recorded(monkeypatch):
    """What recorded runs predict, made up; returns the variants that were asked."""
    asked = []

    def load(path, compile):
        asked.append(path.name)
        return path.name.startswith("elmo")

    def evaluate(task, with_elmo, examples):
        return column([1] * 20 if with_elmo else [1, 0] * 10)

    monkeypatch.setattr(keras.models, "load_model", load)
    monkeypatch.setattr(Tagging, "evaluate", evaluate)
    monkeypatch.setattr(Tagging, "first_score", lambda task, x: np.mean(x))
    return asked


@pytest.mark.slow
def test_runs_are_shared_with_the_command_of_the_task_and_tested(
    command, untrained, capsys, tmp_path
):
    command += ["--elmo-at", "both", "--no-cache"]
    assert run_command(Tagging, command) == 0
    table = ["--table", "shares", "--shares", "1", *command]
    assert tag(table) == 0
    results = tmp_path / "out" / "results.json"
    records = json.loads(results.read_text())
    assert [record["variant"] for record in records] == ["elmo-lm-both", "baseline"]
    before = results.read_bytes()
    assert "baseline, seed 1" in capsys.readouterr().out
    # A new process has not imported the classes of the models.
    code = "from elmo_keras.util.console import main; main()"
    program = [sys.executable, "-c", code, "tag", *table, "--paired"]
    output = subprocess.check_output(program, cwd=ROOT, text=True)
    assert results.read_bytes() == before
    assert "seed 1" not in output
    first, second, difference, p = output.splitlines()[-1].strip("| ").split("|")
    assert (first.strip(), second.strip()) == ("baseline", "elmo-lm-both")
    assert -100 <= float(difference) <= 100 and 0.001 <= float(p) <= 1
    picture = tmp_path / "weights.png"
    assert layer_weights([str(results), "--picture", str(picture)]) == 0
    output = capsys.readouterr().out
    assert output.count("| out ") == 2
    assert output.count(" input |") == output.count(" output |") == 1
    assert picture.read_bytes().startswith(PNG)


def test_wrong_arguments_are_refused(command, error_of):
    def error(*arguments):
        return error_of(tag, ["--table", *arguments])

    assert "Give one --model" in error("mixes", *command, "--model", "other")
    at = command.index("--model")
    alone = command[:at] + command[at + 2 :]
    for table in ("models", "mixes", "places", "shares"):
        assert "Give --model" in error(table, *alone)
    assert "--table shares" in error("mixes", *command, "--picture", "x")


def record(seed, weights, layers="mix", place="input", variant="elmo-lm"):
    mixes = {place: {"weights": weights, "gamma": 1 + seed}}
    run = {"variant": variant, "seed": seed, "dev": {"F1": 0.5}}
    return run | {"settings": {"layers": layers}, "mixes": mixes}


def test_layer_weights_are_means_of_learned_mixes_over_seeds(tmp_path, cells):
    average = record(1, [1 / 3] * 3, layers="average", variant="elmo-lm-average")
    pos = [record(1, [0.2, 0.5, 0.3]), record(2, [0.4, 0.5, 0.1]), average]
    ner = [record(3, [0.1, 0.2, 0.7], place="output")]
    picture = tmp_path / "weights.svg"
    paths = [tmp_path / name / "results.json" for name in ("pos", "ner")]
    for path, records in zip(paths, (pos, ner)):
        path.parent.mkdir()
        path.write_text(json.dumps(records))
    assert layer_weights([*map(str, paths), "--picture", str(picture)]) == 0
    rows = cells()
    deviation = f"{np.sqrt(0.02):.3f}"
    assert rows[2][:4] == ["pos", "input", "2", f"0.300 ± {deviation}"]
    assert rows[2][4] == "0.500 ± 0.000" and rows[2][6] == "2.500 ± 0.707"
    assert rows[3] == ["ner", "output", "1", "0.100", "0.200", "0.700", "4.000"]
    assert len(rows) == 4
    expected = {"Weights of the layers, mean ± standard deviation of 1 to 2 seeds"}
    assert expected | {"0.30", f"± {np.sqrt(0.02):.2f}"} <= texts_of(picture)


@pytest.mark.parametrize("content", [None, "[]", "nothing", '[{"a": 1}]'])
def test_files_without_learned_weights_are_refused(tmp_path, error_of, content):
    path = tmp_path / "results.json"
    if content is not None:
        path.write_text(content)
    assert str(path) in error_of(layer_weights, [path])


def texts_of(picture):
    """What is written on a picture in SVG."""
    return set(re.findall(r"<!-- (.+?) -->", picture.read_text()))


def column(numbers):
    return np.array(numbers)[:, None]


def test_p_is_the_share_of_all_exchanges_with_as_large_a_difference():
    first = [1, 0, 0, 1, 0, 1, 0, 0, 0, 0]
    second = [1, 1, 1, 0, 1, 1, 1, 0, 1, 0]
    differing = [b - a for a, b in zip(first, second) if a != b]
    sums = [
        abs(sum(sign * d for sign, d in zip(signs, differing)))
        for signs in itertools.product((1, -1), repeat=len(differing))
    ]
    exact = np.mean(np.array(sums) >= abs(sum(differing)))
    difference, p = paired_test(
        [column(first)], [column(second)], np.mean, shuffles=4000
    )
    assert difference == pytest.approx(0.4)
    assert p == pytest.approx(exact, abs=0.03) and exact == pytest.approx(0.21875)


def test_the_same_predictions_do_not_differ():
    same = [column([1, 0])]
    assert paired_test(same, same, np.mean, shuffles=9) == (0, 1)


def test_seeds_are_exchanged_together_and_averaged():
    # Each example is as good in both variants, averaged over the seeds.
    first, second = column([1, 1, 0, 0]), column([0, 0, 1, 1])
    both = [first, second], [second, first]
    assert paired_test(*both, np.mean, shuffles=50) == (0, 1)
    # With a score that is no mean over examples, such as F1.
    none, all_right = [column([0, 0])] * 2, [column([1, 1])] * 2
    difference, p = paired_test(none, all_right, np.prod, shuffles=2000)
    assert difference == 1 and p == pytest.approx(0.5, abs=0.05)
