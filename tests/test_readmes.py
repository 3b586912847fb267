"""Links of the READMEs, and the direction of imports."""

import re
import subprocess
import sys

import pytest

from tests.support.paths import READMES, ROOT


def test_imports_point_down():
    # In a process of its own: import-linter silences the loggers of its process.
    lint = "from importlinter import cli; exit(cli.lint_imports(no_cache=True))"
    done = subprocess.run(
        [sys.executable, "-c", lint], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("readme", READMES, ids=str)
def test_readmes_name_files_and_headings_that_exist(readme):
    text = (ROOT / readme).read_text(encoding="utf-8")
    text = re.sub(r"```python\n.*?```", "", text, flags=re.S)
    for link in re.findall(r"\]\((?!http)(.+?)\)", text):
        path, _, heading = link.partition("#")
        target = (ROOT / readme).parent / path if path else ROOT / readme
        assert target.exists(), link
        assert not heading or heading in headings(target), link
    for path in re.findall(r"`?((?:tests|elmo_keras)/[\w/]+\.\w+)", text):
        assert (ROOT / path).exists(), path


def headings(path):
    """The anchors of a Markdown file, and that of its start."""
    lines = path.read_text(encoding="utf-8").splitlines()
    titles = [line.lstrip("# ").lower() for line in lines if line.startswith("#")]
    return {"", *(re.sub(r"[^\w -]", "", title).replace(" ", "-") for title in titles)}
