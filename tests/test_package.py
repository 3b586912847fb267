"""The package as it is shipped, shown and written."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT, randomize

from elmo_keras import BidirectionalLanguageModel, ElmoConfig, Vocabulary
from elmo_keras.model_directory import save_model

THREE_LINES = """
from elmo_keras import Elmo
elmo = Elmo.from_pretrained("model")
vectors = elmo([["Three", "lines", "."]])
assert vectors.shape == (1, 3, 10), vectors.shape
import elmo_keras
print(elmo_keras.__file__)
"""


@pytest.fixture
def model_directory(tmp_path, monkeypatch):
    """A tiny model in ./model."""
    monkeypatch.chdir(tmp_path)
    vocabulary = Vocabulary.count([["a", "model"]])
    bilm = BidirectionalLanguageModel(ElmoConfig.preset("test"), len(vocabulary))
    bilm.build()
    save_model("model", randomize(bilm), vocabulary)
    return tmp_path / "model"


def run(*command, **kwargs):
    done = subprocess.run(command, capture_output=True, text=True, **kwargs)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_installed_wheel_gives_vectors_without_the_checkout(model_directory):
    folder = model_directory.parent
    python = sys.executable
    run(python, "-m", "build", "--wheel", "--no-isolation", "-o", folder, ROOT)
    (wheel,) = folder.glob("elmo_keras-*.whl")
    site = folder / "site"
    run(python, "-m", "pip", "install", "-q", "--no-deps", "--target", site, wheel)
    environment = os.environ | {"PYTHONPATH": str(site)}
    printed = run(python, "-P", "-c", THREE_LINES, cwd=folder, env=environment)
    assert printed.strip() == str(site / "elmo_keras" / "__init__.py")
    assert sorted(p.name for p in site.iterdir() if p.name != "bin") == sorted(
        ["elmo_keras", *(p.name for p in site.glob("*.dist-info"))]
    )


def test_the_python_of_the_readme_runs(model_directory):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert blocks
    names: dict = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)


def test_another_backend_is_refused():
    code = "import keras; keras.backend.backend = lambda: 'jax'; import elmo_keras"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 1 and "set KERAS_BACKEND=tensorflow" in done.stderr


@pytest.mark.parametrize("check", [["format", "--check"], ["check"]])
def test_the_code_is_formatted_and_linted(check):
    run(sys.executable, "-m", "ruff", *check, "--no-cache", ROOT)
