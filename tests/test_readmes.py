"""The pages of documentation: links and the site."""

import json
import os
import re
import subprocess
import sys

import pytest

import elmo_keras
from elmo_keras.commands.console import COMMANDS
from tests.support.paths import PAGES, ROOT
from tools import scores

OWN = (
    "https://(github.com/elmo-keras/elmo-keras/blob/main|"
    "raw.githubusercontent.com/elmo-keras/elmo-keras/main)/"
)
SITE = "https://elmo-keras.github.io/elmo-keras/"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_pages_name_files_and_headings_that_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"```python\n.*?```", "", text, flags=re.S)
    for link in re.findall(r"\]\((.+?)\)", re.sub(OWN, f"{ROOT}/", text)):
        link = source(link) if link.startswith(SITE) else link
        if link.startswith("http"):
            continue
        path, _, heading = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), link
        assert not heading or heading in headings(target), link
    for path in re.findall(r"`?((?:tests|elmo_keras)/[\w/]+\.\w+)", text):
        assert (ROOT / path).exists(), path


def test_pages_and_cards_print_the_scores_of_one_file():
    rows = json.loads((scores.BOX / "scores.json").read_text("utf-8"))
    assert {row["part"] for row in rows} <= {"dev", "test"}
    for path in scores.texts_of(scores.BOX):
        text = path.read_text("utf-8")
        assert path.parent.name in {"en", "ko"} or scores.TABLE.search(text)
        assert scores.with_scores(text, rows) == text, "run python -m tools.scores"


@pytest.mark.nightly
def test_the_site_is_built_without_warnings(tmp_path):
    """Links, anchors, docstrings, and a place in the navigation for each page."""
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    pytest.importorskip("nbclient", reason="needs the extra docs")
    build = ["build", "--strict", "-f", ROOT / "docs" / "mkdocs.yml", "-d", tmp_path]
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", *build],
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "ELMO_KERAS_NOTEBOOKS": "0"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    public = {*elmo_keras.__all__} - {"layers"}, {*elmo_keras.layers.__all__}
    for page, names in zip(("api", "layers"), public):
        html = (tmp_path / "reference" / f"{page}.html").read_text(encoding="utf-8")
        assert {*re.findall(r'<h2 id="elmo_keras\.[\w.]+\.(\w+)"', html)} == names
    commands = (tmp_path / "reference" / "commands.html").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f'<h2 id="{name}"' not in commands] == []


def source(link):
    """The file that a page of the site is made of."""
    path, _, heading = link.removeprefix(SITE).partition("#")
    if path.partition("?")[0] == "live/":
        return str(ROOT / "docs/live/index.html")
    page = ROOT / "docs/pages" / path / ("" if path.endswith(".html") else "index.html")
    sources = page.with_suffix(".md"), page.with_suffix(".ipynb")
    return f"{sources[0] if sources[0].exists() else sources[1]}#{heading}"


def headings(path):
    """The anchors of a Markdown file, and that of its start."""
    lines = path.read_text(encoding="utf-8").splitlines()
    titles = [line.lstrip("# ").lower() for line in lines if line.startswith("#")]
    return {"", *(re.sub(r"[^\w -]", "", title).replace(" ", "-") for title in titles)}
