"""The programs that train models of tasks, on tiny files."""

import runpy
import sys

import numpy as np
import pytest

from examples import paper
from tests.support.paths import ROOT

pytestmark = pytest.mark.journey  # models are trained

SMALL = "--units 2 --word-dim 2 --character-dim 2 --epochs 1".split()


def run(monkeypatch, name, *arguments):
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    try:
        runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    except SystemExit as error:
        assert not error.code


@pytest.fixture
def train(conllu):
    """ "run" is a verb after "they" and a noun after "the"."""
    rng = np.random.default_rng(0)
    kinds = ([("they", "PRON"), ("run", "VERB")], [("the", "DET"), ("run", "NOUN")])
    return conllu("train.conllu", [kinds[i] for i in rng.integers(2, size=40)])


@pytest.mark.usefixtures("eagerly")
def test_the_papers_tables(conllu, model_directory, tmp_path, cells, monkeypatch):
    few = conllu("few.conllu", [[("they", "PRON")], [("run", "VERB")]] * 4)
    files = "--train", few, "--dev", few, "--output", tmp_path / "out"
    given = *files, "--model", model_directory, *SMALL

    def rows(*arguments):
        run(monkeypatch, "paper.py", *arguments)
        return cells()

    picture = tmp_path / "shares.png"
    shares = "--shares", "0.5", "--seeds", "1", "2", "--paired"
    table = rows("pos", "shares", *given, *shares, "--picture", picture)
    names = ["baseline-0.5", "elmo-0.5"]
    assert [row[0] for row in table[2:4]] == names and "±" in table[3][1]
    assert table[-1][:2] == names
    assert 0 < float(table[-1][3]) <= 1 and picture.stat().st_size > 1000
    assert table[3][-1] == f"{float(table[3][-1]):+.2f}"
    table = rows("pos", "places", *given)
    assert [row[0] for row in table[2:]] == ["baseline", "input", "output", "both"]
    again = rows("pos", "models", *given, "--models", model_directory)
    assert table[2] == again[2]  # not trained again
    table = rows("weights", tmp_path / "out")
    assert {row[0] for row in table[2:]} >= {"out both, input", "out both, output"}
    assert sum(map(float, table[2][1].split(", "))) == pytest.approx(1, abs=0.02)


def test_the_probes_of_contextual_layers_tell_what_the_word_alone_does_not(
    train, model_directory, tmp_path, cells, monkeypatch
):
    more = "--learning-rate 0.2 --batch-size 5 --epochs 3 --seeds 1 2".split()
    given = "--train", train, "--dev", train, "--model", model_directory, *more
    run(monkeypatch, "probe.py", *given)
    scores = {row[0]: float(row[1].split()[0]) for row in cells()[2:]}
    verbs = train.read_text().count("VERB") / 40
    likely = 100 * (1 + max(verbs, 1 - verbs)) / 2
    assert max(scores.pop("layer 0"), scores["the most frequent label"]) < likely + 0.01
    assert min(scores["layer 1"], scores["layer 2"]) > 95
    texts = tmp_path / "texts.tsv"
    lines = ["they run\tgood\n"] * 24 + ["the run\tbad\n"] * 16
    texts.write_text("text\tlabel\n" + "".join(lines))
    given = "--train", texts, "--dev", texts, "--model", model_directory, *more
    run(monkeypatch, "probe.py", *given)
    scores = [float(row[1].split()[0]) for row in cells()[2:]]
    assert scores[0] == 60 and min(scores[1:]) > 95


def column(numbers):
    return np.array(numbers)[:, None]


def test_p_is_the_share_of_all_exchanges_with_as_large_a_difference():
    first = [1, 0, 0, 1, 0, 1, 0, 0, 0, 0]
    second = [1, 1, 1, 0, 1, 1, 1, 0, 1, 0]
    # Six differ, with the sum 4: 14 of their 64 signs give 4, −4 or more.
    difference, p = paper.paired_test([column(first)], [column(second)], np.mean, 4000)
    assert difference == pytest.approx(0.4)
    assert p == pytest.approx(0.21875, abs=0.03)
    # Each example is as good in both rows, averaged over the seeds.
    first, second = column([1, 1, 0, 0]), column([0, 0, 1, 1])
    assert paper.paired_test([first, second], [second, first], np.mean, 50) == (0, 1)
    # With a score that is no mean over examples, such as F1.
    none, all_right = [column([0, 0])] * 2, [column([1, 1])] * 2
    difference, p = paper.paired_test(none, all_right, np.prod, 2000)
    assert difference == 1 and p == pytest.approx(0.5, abs=0.05)
