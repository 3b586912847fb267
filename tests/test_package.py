"""The package as it is shipped, shown and written."""

import contextlib
import importlib.metadata
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import warnings
import zipfile

import pytest

from elmo_keras import Vocabulary
from elmo_keras.commands import console
from elmo_keras.formats.model_directory import save_model
from tests.support.models import random_bilm
from tests.support.paths import PAGES, ROOT
from tests.support.sizes import CONFIG
from tests.support.waiting import PATIENCE

CLI = "elmo-keras"
GUIDES = "docs/pages/how-to"
NEEDS = {  # modules that the Python of a page imports, and that may be missing
    f"{GUIDES}/other-libraries.md": "sklearn spacy datasets",
    "docs/pages/ko/annotate.md": "spacy",
    f"{GUIDES}/search.md": "faiss",
    f"{GUIDES}/ray.md": "ray",
    f"{GUIDES}/spark.md": "pyspark",
}
SEPARATOR = "\x1f"
# A block that is not run stands after `<!-- not run: REASON -->`.
BLOCK = re.compile(r"(<!--.*not run: .+-->\n)?^```(\S*)\n((?s:.*?))^```$", re.M)
RUN = "python", "sh"
# Blocks that need more than seconds.
LONG = re.compile(r"\.fit\(|export|serve|train|curl")
GIT = r"('elmo-keras\[[\w,]+\] @ )?git\+https://github.com/elmo-keras/elmo-keras'?"
MODULES = [*(ROOT / "elmo_keras").rglob("*.py")]
NOTEBOOKS = [str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.ipynb")]


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


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
    """Every `elmo-keras` of a page as the shell splits it, without running any."""
    show = f'printf \'%s{SEPARATOR}\' "${{0##*/}}" "$@"; echo'
    blocks = re.findall(r"```sh\n(.*?)```", text_of(page), re.S)
    script = "\n".join(blocks).replace("\\\n", "")
    lines = re.findall(rf'^{CLI} .*|^\w+=(?:".*"|\S*)$', script, re.M)
    done = run_shell("\n".join(lines), {CLI: show}, folder)
    assert done.returncode == 0, done.stderr
    return [line.split(SEPARATOR)[:-1] for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a tiny model in `model`, and a text."""
    folder = tmp_path_factory.mktemp("user")
    vocabulary = Vocabulary.count([["a", "model"]])
    bilm = random_bilm(CONFIG, len(vocabulary))
    save_model(folder / "model", bilm, vocabulary)
    return folder


def test_a_wheel_holds_each_module_once_and_only_in_the_library(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"elmo_keras"}
    modules = sorted(name for name in names if name.endswith(".py"))
    expected = [path.relative_to(ROOT) for path in ROOT.glob("elmo_keras/**/*.py")]
    assert modules == sorted(map(str, expected))
    assert "elmo_keras/hub/catalogue.toml" in names
    box = (path for path in ROOT.glob("elmo_keras/box/**/*") if path.is_file())
    assert {str(path.relative_to(ROOT)) for path in box} <= {*names}
    readmes = [name for name in names if name.endswith("README.md")]
    assert readmes == ["elmo_keras/export/tensorflow_serving/README.md"]


@pytest.mark.journey
def test_a_wheel_works_and_knows_all_commands_of_the_pages(site, folder, tmp_path):
    lines = [line for page in PAGES for line in command_lines(page, tmp_path)]
    assert {line[1] for line in lines} == set(console.COMMANDS)
    script = ROOT / "tests" / "support" / "installed.py"
    done = subprocess.run(
        [sys.executable, "-P", script],
        env=os.environ | {"PYTHONPATH": str(site)},  # without the checkout
        cwd=folder,
        input=json.dumps(lines),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_entry_points_of_the_wheel_exist(site):
    (info,) = site.glob("*.dist-info")
    entry_points = importlib.metadata.PathDistribution(info).entry_points
    points = {(point.group, point.name): point for point in entry_points}
    names = "elmo", "elmo_ner", "elmo_pos", "elmo_ud"
    components = {("spacy_factories", name) for name in names}
    assert points.keys() == {("console_scripts", CLI), *components}
    assert points["console_scripts", CLI].load() is console.main
    component = points["spacy_factories", "elmo"]  # spaCy may be missing
    assert component.value == "elmo_keras.adapters.spacy:ElmoPipe"


ELMO_KERAS = f"""
run() {{
  exec {sys.executable} -P -c 'import sys; from elmo_keras.commands.console import main; sys.exit(main())' "$@"
}}
[ "$1" = serve ] || run "$@"
rm -f serve.log
(run "$@") > serve.log 2>&1 &
echo $! >> serve.pid
until grep -s ^Serving serve.log; do sleep 0.2; kill -0 $! || exit 1; done
"""
STAND_INS = {
    CLI: ELMO_KERAS,
    "pip": "",
    "python": f'exec {sys.executable} -P "$@"',
    "curl": 'exec /usr/bin/curl "$@"',
}


@pytest.fixture
def user(tmp_path, site, monkeypatch):
    """A clean folder; `elmo-keras` is the installed wheel."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    yield tmp_path
    servers = tmp_path / "serve.pid"
    for server in servers.read_text().split() if servers.exists() else ():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(server), signal.SIGTERM)


@pytest.fixture
def ports():
    """The ports of the pages, and free ones in their place."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(4)]
        for free in sockets:
            free.bind(("localhost", 0))
        numbers = [str(free.getsockname()[1]) for free in sockets]
    return dict(zip(("8500", "8501", "8510", "8511"), numbers))


def run_block(block, folder, capsys):
    """Runs the lines of a block of a shell; returns what they print.

    A command runs in this process, where TensorFlow has been imported, a server does not.
    """
    printed = ""
    for line in block.replace("\\\n", "").splitlines():
        program, *arguments = shlex.split(line)
        if program == CLI and arguments[0] != "serve":
            capsys.readouterr()
            assert console.main(arguments) == 0
            printed += capsys.readouterr().out
        else:
            done = run_shell(line, STAND_INS, folder)
            assert done.returncode == 0, done.stdout + done.stderr
            printed += done.stdout
    return printed


def shows(page_text, printed):
    """Whether a page shows what was printed; `…` stands for anything."""
    parts = map(re.escape, page_text.rstrip().split("…"))
    return re.fullmatch(".*".join(parts), printed.rstrip(), re.S)


@pytest.mark.filterwarnings(r"ignore::Warning:ray\..*")  # Ray warns about itself
@pytest.mark.filterwarnings("ignore:.*within a word")  # before Korean particles
@pytest.mark.parametrize(
    ("page", "but"),
    [
        pytest.param("README.md", LONG, id="README.md in seconds"),
        *(
            pytest.param(page, None, id=page, marks=pytest.mark.journey)
            for page in PAGES
            if any(language in RUN for _, language, _ in BLOCK.findall(text_of(page)))
        ),
    ],
)
def test_the_blocks_of_a_page_run_in_order_and_print_what_it_shows(
    page, but, user, ports, capsys
):
    names, printed = {}, ""
    if page in NEEDS:
        warnings.simplefilter("ignore")  # those of other packages; until the test ends
    for reason, language, block in BLOCK.findall(text_of(page)):
        block = re.sub("85[01][01]", lambda port: ports[port[0]], block)
        if but and but.search(block):
            continue
        if language == "text":
            assert not printed or shows(block, printed), f"{block}\nis\n{printed}"
            printed = ""
        elif language == "sh" and not reason:
            printed += run_block(block, user, capsys)
        elif language == "python" and not reason:
            capsys.readouterr()
            try:
                exec(compile(block, page, "exec"), names)
            except ModuleNotFoundError as error:
                if error.name not in NEEDS.get(page, "").split():
                    raise
                pytest.skip(f"{page} needs {error.name}")
            printed = capsys.readouterr().out
        else:
            printed = ""


@pytest.mark.parametrize("page", PAGES)
def test_a_block_runs_quotes_the_package_is_no_program_or_says_why_not(page):
    text = text_of(page)
    blocks = BLOCK.findall(text)
    assert 2 * len(blocks) == len(re.findall("^ *```", text, re.M))
    code = "".join("".join(path.read_text("utf-8").split()) for path in MODULES)
    for _, language, block in blocks:
        assert language in {*RUN, "py", "text", "math", "bibtex", "nginx"}
        for line in block.splitlines() if language == "py" else ():
            assert "".join(line.partition("  # ")[0].split()) in code, line


@pytest.mark.parametrize("page", sorted({*PAGES, *NOTEBOOKS} - {"CHANGELOG.md"}))
def test_pip_installs_the_package_from_where_it_is(page):
    for command in re.findall(r"pip install[^`\n]*", text_of(page)):
        assert "elmo-keras" not in re.sub(GIT, "", command), command
