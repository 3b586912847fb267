"""The laws of the layout: see `tests/support/house.py`."""

import re

import pytest

from tests.support import house
from tests.support.paths import ROOT
from tests.support.readmes import READMES

MAX_LONG_FUNCTIONS = 10
MAX_LINES_OF_THE_README = 180


@pytest.fixture(scope="module")
def files():
    return house.sources(ROOT)


@pytest.mark.parametrize(
    "law",
    [
        house.repeated_names,
        house.hidden_programs,
        house.sibling_imports,
        house.upward_imports,
        house.rooms_without_place,
        house.namespaces_passed,
        house.positional_functions,
        house.positional_calls,
    ],
    ids=lambda law: law.__name__,
)
def test_nothing_breaks_the_law(law, files):
    found = law(files)
    assert not found, "\n".join(["", *found])


def test_few_functions_are_long(files):
    assert len(house.long_functions(files)) <= MAX_LONG_FUNCTIONS


def test_the_readme_is_short():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.count("\n") <= MAX_LINES_OF_THE_README


def test_the_map_of_the_readme_shows_the_tree(files):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    _, after = readme.split("\n## Map\n")
    paths = house.mapped(re.search(r"```text\n(.*?)```", after, re.S)[1])
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert house.expected_in_map(files) - set(paths) == set()


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


def test_a_map_is_read_by_its_indentation():
    text = "train.py  the program\nexport/  this\n  serve/  and that\nlast.py\n"
    assert house.mapped(text) == ["train.py", "export/", "export/serve/", "last.py"]


def test_the_laws_find_what_breaks_them(tmp_path):
    broken = {
        "train.py": "from elmo_keras.elmo import Elmo",
        "elmo_keras/new.py": "if __name__ == '__main__': pass",
        "elmo_keras/bilm.py": "import elmo_keras.elmo",
        "elmo_keras/cli/one.py": "def f(a, b, c, d): g(1, 2, 3, 4, 5, 6, 7)",
        "elmo_keras/layers/one.py": "from ..cli import one",
        "elmo_keras/tasks/tag/task.py": "from elmo_keras.tasks.answer import squad",
        "elmo_keras/tasks/readers/lines.py": "def read(x: argparse.Namespace): pass",
        "export/vectors.py": "from . import sentences\nfrom ..train import main",
    }
    for name, text in broken.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    files = house.sources(tmp_path)
    assert house.hidden_programs(files) == ["elmo_keras/new.py"]
    assert house.rooms_without_place(files) == ["elmo_keras/new.py"]
    assert house.repeated_names(files) == [
        "elmo_keras/cli/one.py elmo_keras/layers/one.py"
    ]
    assert house.upward_imports(files) == [
        "elmo_keras/bilm.py imports elmo_keras.elmo",
        "elmo_keras/layers/one.py imports elmo_keras.cli",
        "elmo_keras/layers/one.py imports elmo_keras.cli.one",
        "export/vectors.py imports train",
        "export/vectors.py imports train.main",
    ]
    assert house.sibling_imports(files) == [
        "elmo_keras/tasks/tag/task.py imports elmo_keras.tasks.answer",
        "elmo_keras/tasks/tag/task.py imports elmo_keras.tasks.answer.squad",
    ]
    assert house.namespaces_passed(files) == [
        "elmo_keras/tasks/readers/lines.py:1 read"
    ]
    assert house.positional_functions(files) == [
        "elmo_keras/cli/one.py:1 f(a, b, c, d)"
    ]
    assert house.positional_calls(files) == ["elmo_keras/cli/one.py:1 g"]
