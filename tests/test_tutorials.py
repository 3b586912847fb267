"""The tutorials: notebooks that run, and that show what their text says."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.support.paths import DATA, ROOT

TUTORIALS = ROOT / "docs" / "pages" / "tutorials"
REVIEWS = "ko_nsmc/ratings_train.txt"
WIKIGOLD = "en_ner_misc/wikigold/CONLL-format/data/wikigold.conll.txt"
KLUE = "ko_klue/klue-ner-v1.1_dev.first4000.tsv"
NOTEBOOKS = sorted(TUTORIALS.glob("*.ipynb"))
EXECUTE = "import sys; from nbclient.cli import main; sys.exit(main())"


@pytest.fixture
def printed(tmp_path):
    """Runs a notebook in a process of its own, and returns what its cells printed."""
    pytest.importorskip("nbclient", reason="needs the extra docs")
    pytest.importorskip("ipykernel", reason="needs the extra docs")

    def run(name):
        output = tmp_path / "executed.ipynb"
        done = subprocess.run(
            [sys.executable, "-c", EXECUTE, TUTORIALS / name, "--output", output],
            env=os.environ | {"PYTHONPATH": str(ROOT), "ELMO_KERAS_DATA": str(DATA)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        cells = json.loads(output.read_text(encoding="utf-8"))["cells"]
        outputs = [part for cell in cells for part in cell.get("outputs", ())]
        texts = [part["text"] for part in outputs if part.get("name") == "stdout"]
        return "".join("".join(text) for text in texts)

    return run


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_holds_no_outputs_and_its_plots_have_a_text(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        assert not cell.get("outputs") and not cell.get("execution_count")
        assert ("plt.show()" in "".join(cell["source"])) == ("alt" in cell["metadata"])


def gaps_of(text, word=""):
    """By how much uses of one meaning are nearer to each other, layer by layer."""
    rows = re.findall(rf"{word}layer \d: same ([\d.]+), other ([\d.]+)", text)
    return [float(same) - float(other) for same, other in rows]


@pytest.mark.nightly
def test_the_meanings_of_a_word_separate_from_layer_to_layer(printed):
    gaps = gaps_of(printed("word-meanings.ipynb"))
    assert gaps[0] == 0 and 0.05 < gaps[1] < gaps[2]


@pytest.mark.nightly
def test_a_head_of_your_own_finds_more_from_more_sentences_and_is_served(printed, data):
    data(WIKIGOLD), data(KLUE)
    text = printed("own-head.ipynb")
    for language in "en", "ko":
        few, more = re.findall(rf"^{language}, .* F1 ([\d. ]+) after", text, re.M)
        assert 25 < float(few) < float(more) - 5
        assert re.search(rf"^{language}: \d+ mistakes$", text, re.M)
    assert "**Data.** 40 examples of `en-40.conll` (train)" in text
    assert re.search(r"^LC 밴쿠버 0\.\d", text, re.M)
    assert re.search(r"^B-PER +Marie\nI-PER +Curie\n", text, re.M)


@pytest.mark.nightly
def test_the_korean_model_tells_meanings_and_reviews_apart(printed, data):
    data(REVIEWS)
    text = printed("korean.ipynb")
    for word, gap in ("전기를 ", 0.05), ("전 ", 0.1):
        gaps = gaps_of(text, word)
        assert gaps[0] == 0 and gaps[2] > gap
    rows = (re.search(rf"{x} +([\d. ]+)\n", text)[1] for x in ("eojeols", "ELMo"))
    eojeols, elmo = ([*map(float, row.split())] for row in rows)
    assert elmo[0] > eojeols[0] + 2 and sum(elmo) > sum(eojeols)
