"""The package as it is shipped, shown and written."""

import contextlib
import gzip
import importlib.metadata
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import hatchling.build
import pytest

from elmo_keras import ElmoConfig, Vocabulary
from elmo_keras.formats.model_directory import save_model
from elmo_keras.util import console
from tests.support.models import random_bilm
from tests.support.paths import PAGES, ROOT
from tests.support.waiting import PATIENCE

CLI = "elmo-keras"
GUIDES = "docs/pages/how-to"
NEEDS = {  # modules that the Python of a page imports, and that may be missing
    f"{GUIDES}/other-libraries.md": "sklearn spacy datasets qdrant_client gensim",
    f"{GUIDES}/search.md": "faiss",
    f"{GUIDES}/ray.md": "ray",
    f"{GUIDES}/spark.md": "pyspark",
}
PROGRAMS = "curl", "elmo-keras", "pip", "python", "python3"
SEPARATOR = "\x1f"


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks_of(page, language):
    return re.findall(rf"```{language}\n(.*?)```", text_of(page), re.S)


def run_shell(script, programs, folder):
    """Runs a script with `programs`, shell scripts, in place of those it calls."""
    stand_ins = folder / ".venv" / "bin"
    stand_ins.mkdir(parents=True, exist_ok=True)
    for name, text in programs.items():
        (stand_ins / name).write_text(f"#!/bin/sh\n{text}\n")
        (stand_ins / name).chmod(0o755)
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=os.environ | {"PATH": f"{stand_ins}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def command_lines(page, folder):
    """Every command of a page as the shell splits it, without running any."""
    show = f'printf \'%s{SEPARATOR}\' "${{0##*/}}" "$@"; echo'
    # `.ci/…` are programs of a checkout alone.
    script = re.sub(r"^\.ci/.*\n", "", "\n".join(blocks_of(page, "sh")), flags=re.M)
    done = run_shell(script, dict.fromkeys(PROGRAMS, show), folder)
    assert done.returncode == 0, done.stderr
    return [line.split(SEPARATOR)[:-1] for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a tiny model in `model`, and a text."""
    folder = tmp_path_factory.mktemp("user")
    vocabulary = Vocabulary.count([["a", "model"]])
    bilm = random_bilm(ElmoConfig.preset("test"), len(vocabulary))
    save_model(folder / "model", bilm, vocabulary)
    return folder


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return folder / hatchling.build.build_wheel(str(folder))


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    """A folder with nothing but what the wheel holds."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_a_wheel_holds_each_module_once_and_only_in_the_library(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"elmo_keras"}
    modules = sorted(name for name in names if name.endswith(".py"))
    expected = [path.relative_to(ROOT) for path in ROOT.glob("elmo_keras/**/*.py")]
    assert modules == sorted(map(str, expected))
    assert "elmo_keras/hub/catalogue.toml" in names
    readmes = [name for name in names if name.endswith("README.md")]
    assert readmes == ["elmo_keras/export/tensorflow_serving/README.md"]


@pytest.mark.slow
def test_an_installed_wheel_works_and_knows_all_commands_of_the_pages(
    site, folder, tmp_path
):
    lines = [line for page in PAGES for line in command_lines(page, tmp_path)]
    commands = [line for line in lines if line[0] == CLI]
    assert {command[1] for command in commands} == set(console.COMMANDS)
    script = ROOT / "tests" / "support" / "installed.py"
    done = subprocess.run(
        [sys.executable, "-P", script],
        env=os.environ | {"PYTHONPATH": str(site)},  # without the checkout
        cwd=folder,
        input=json.dumps(commands),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_entry_points_of_the_wheel_exist(site):
    (info,) = site.glob("*.dist-info")
    found = importlib.metadata.PathDistribution(info).entry_points
    points = {(point.group, point.name): point for point in found}
    components = {("spacy_factories", f"elmo{kind}") for kind in ("", "_ner", "_pos")}
    assert points.keys() == {("console_scripts", CLI), *components}
    assert points["console_scripts", CLI].load() is console.main
    component = points["spacy_factories", "elmo"]  # spaCy may be missing
    assert component.value == "elmo_keras.adapters.spacy:ElmoPipe"


@pytest.mark.filterwarnings(r"ignore::Warning:ray\..*")  # of Ray about itself
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if page == "README.md" else pytest.mark.slow)
        for page in PAGES
        if "```python" in text_of(page)
    ],
)
def test_the_python_of_the_pages_prints_what_they_show(
    page, folder, monkeypatch, capsys
):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # for workers of Spark
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    for file in "text.hdf5", "tagger.keras":
        Path(file).unlink(missing_ok=True)  # by another page
    names: dict = {}
    output = r"(?:\n\n```text\n(.*?)```)?"
    blocks = re.findall(rf"```python\n(.*?)```{output}", text_of(page), re.S)
    assert blocks
    if page in NEEDS:
        warnings.simplefilter("ignore")  # those of other packages; until the test ends
    for block, shown in blocks:
        capsys.readouterr()
        try:
            exec(compile(block, page, "exec"), names)
        except ModuleNotFoundError as error:
            if error.name not in NEEDS.get(page, "").split():
                raise
            pytest.skip(f"{page} needs {error.name}")
        assert not shown or capsys.readouterr().out == shown


ELMO_KERAS = f"""
run() {{
  exec {sys.executable} -P -c 'import sys; from elmo_keras.util.console import main; sys.exit(main())' "$@"
}}
[ "$1" = serve ] || run "$@"
rm -f serve.log
(run "$@") > serve.log 2>&1 &
echo $! >> serve.pid
until grep -qs ^Serving serve.log; do sleep 0.2; kill -0 $! || exit 1; done
"""


@pytest.fixture
def user(folder, tmp_path, site, monkeypatch):
    """A folder with a model and texts, where `elmo-keras` runs the installed wheel."""
    monkeypatch.setenv("PYTHONPATH", str(site))
    shutil.copytree(folder / "model", tmp_path / "model")
    text = "A sentence of tokens\n\nAnother one\n"
    (tmp_path / "text.txt").write_text(text)
    (tmp_path / "text.txt.gz").write_bytes(gzip.compress(text.encode()))
    for name in "train.conll", "dev.conll":
        (tmp_path / name).write_text("Ann B-PER\nlives O\nin O\nYork B-LOC\n\n" * 4)
    yield tmp_path
    servers = tmp_path / "serve.pid"
    for server in servers.read_text().split() if servers.exists() else ():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(server), signal.SIGTERM)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "printed"),
    [
        ("corpus.md", "means.npy"),
        ("int8.md", "vectors.npy"),
        ("export-tasks.md", '"predictions"'),
        ("serve.md", '"predictions"'),
    ],
)
def test_the_shell_of_the_guides_runs_with_an_installed_wheel(page, printed, user):
    with contextlib.ExitStack() as stack:
        ports = {}
        for port in "8500", "8501", "8510", "8511":
            free = stack.enter_context(socket.socket())
            free.bind(("localhost", 0))
            ports[port] = str(free.getsockname()[1])
    script = "\n".join(blocks_of(f"{GUIDES}/{page}", "sh"))
    script = re.sub("85[01][01]", lambda port: ports[port[0]], script)
    programs = {
        CLI: ELMO_KERAS,
        "pip": "",
        "curl": 'exec /usr/bin/curl "$@"',
    }
    done = run_shell(script, programs, user)
    assert done.returncode == 0, done.stdout + done.stderr
    assert printed in done.stdout
