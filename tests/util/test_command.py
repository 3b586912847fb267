"""The frame of commands: help, errors in one line, exit statuses, stopping."""

import errno
import io
import os
import signal
import subprocess
import sys
import types

import pytest

from elmo_keras.util import console
from elmo_keras.util.command import (
    CommandFailed,
    command_parser,
    run_command,
    started_command,
    stopping,
)
from tests.support.paths import ROOT


@pytest.fixture
def start(monkeypatch):
    """Pretends that the process was started in this way."""

    def started(argument, module=None):
        spec = module and types.SimpleNamespace(name=module)
        monkeypatch.setattr(sys.modules["__main__"], "__spec__", spec)
        monkeypatch.setattr(sys, "argv", [argument])

    return started


@pytest.mark.parametrize(
    ("program", "argument", "module", "typed"),
    [
        ("export", "x/__main__.py", "export.__main__", "python -m export"),
        ("export", "x/__main__.py", "elmo_keras.export", "python -m elmo_keras.export"),
        ("export.serve", "elmo-keras serve", None, "elmo-keras serve"),
        ("train.py", "../train.py", None, "python ../train.py"),
        ("train.py", "train.py", "elmo_keras.train", "python -m elmo_keras.train"),
        ("export.serve", "/bin/pytest", None, "python -m export.serve"),
        ("export.serve", "pytest", "pytest.__main__", "python -m export.serve"),
    ],
)
def test_the_usage_shows_what_was_typed(start, program, argument, module, typed):
    start(argument, module)
    assert command_parser(program, None).format_usage() == f"usage: {typed} [-h]\n"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("python -m elmo_keras.tasks.tag --help", "tag"),
        ("python -m elmo_keras.analyses.compare.__main__", "compare"),
        ("python -m pytest -m slow", ""),
        ("python script.py tag", ""),
    ],
)
def test_a_command_is_known_while_its_modules_are_imported(monkeypatch, line, name):
    monkeypatch.setattr(sys, "orig_argv", line.split())
    assert started_command() == name


def test_examples_in_the_help_work_as_they_are_shown(start):
    shown = command_parser("package.name", "One.\n\n    python -m x\n").format_help()
    assert shown.startswith("usage: python -m package.name")
    assert "One.\n\n    python -m x\n" in shown  # with its line breaks
    description = "python -m export MODEL, `python -m export`, python -m export.serve"
    start("elmo-keras export")
    assert command_parser("export", description).description == (
        "elmo-keras export MODEL, `elmo-keras export`, python -m export.serve"
    )
    start("elmo-keras train")
    assert command_parser("train.py", "python train.py --evaluate").description == (
        "elmo-keras train --evaluate"
    )


def test_a_wrong_option_and_an_error_name_what_was_typed(start, capsys):
    start("elmo-keras embed")
    with pytest.raises(SystemExit, match="2"):
        command_parser("elmo_keras.embed", None).parse_args(["--x"])
    assert run_command("elmo_keras.embed", raising(ValueError("bad"))) == 2
    assert capsys.readouterr().err == (
        "elmo-keras embed: unrecognized arguments: --x. See elmo-keras embed --help\n"
        "elmo-keras embed: bad\n"
    )


def raising(error):
    def work():
        raise error

    return work


@pytest.mark.parametrize(
    ("work", "status", "line"),
    [
        (raising(ValueError("bad\n  value")), 2, "bad value"),
        (raising(FileNotFoundError("There is no x.")), 2, "There is no x."),
        (raising(ImportError("needs y")), 2, "needs y"),
        (
            raising(OSError(errno.ENOSPC, "No space left")),
            1,
            "[Errno 28] No space left",
        ),
        (raising(CommandFailed("a worker is gone")), 1, "a worker is gone"),
        (raising(FloatingPointError("not finite")), 1, "not finite"),
        (raising(MemoryError("1 TB.")), 1, "The memory is not enough. 1 TB."),
        (raising(KeyboardInterrupt()), 130, "Interrupted. Resumes."),
        *((lambda n=n: n, n or 0, "") for n in (None, 0, 130)),
    ],
)
def test_an_error_is_one_line_on_standard_error_and_a_status(
    work, status, line, capsys
):
    assert run_command("prog", work, "Interrupted. Resumes.") == status
    shown = capsys.readouterr()
    assert shown.err == (f"prog: {line}\n" if line else "") and shown.out == ""
    with pytest.raises(TypeError):  # an error of the program itself is not hidden
        run_command("prog", raising(TypeError()))


def run(*arguments, **environment):
    """Runs Python; returns the status, and standard output and error."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout, done.stderr


def test_help_and_refusals_come_without_tensorflow():
    code = (
        "import contextlib, io, sys; from elmo_keras.util import console\n"
        "for command in sys.argv[1:]:\n"
        "    name, *arguments = command.split()\n"
        "    sys.argv = ['elmo-keras', name, *arguments]\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as shown:\n"
        "        with contextlib.redirect_stderr(shown):\n"
        "            with contextlib.suppress(SystemExit): console.main()\n"
        "    assert f'elmo-keras {name}' in shown.getvalue(), command\n"
        "    assert not {'tensorflow', 'keras'} & {*sys.modules}, command"
    )
    commands = [f"{name} --help" for name in console.MODULES]
    refused = "tag --units 0", "compare tag --help", "compare tag --table tables"
    found = run("-W", "ignore::RuntimeWarning", "-c", code, *commands, *refused)
    assert found == (0, "", "")


def test_shells_complete_commands_options_and_choices(tmp_path):
    pytest.importorskip("argcomplete", reason="needs the extra completion")
    (tmp_path / "train.conllu").touch()
    lines = {
        "lay": {"layer-weights "},
        "tag --tra": {"--train "},
        "tag --kind pos --elmo-at o": {"output "},
        f"tag --train {tmp_path}/tr": {f"{tmp_path}/train.conllu "},
        "search --layers top --ind": {"--index "},
        "compare sim": {"similarity "},
        "compare tag --table m": {"models", "mixes"},
        "compare tag --lstm-d": {"--lstm-dropout "},
        "nothing --x": set(),
    }
    code = (
        "import contextlib, os, sys; from elmo_keras.util import console\n"
        "_, out, *lines = sys.argv\n"
        "for number, line in enumerate(lines):\n"
        "    os.environ |= {'COMP_LINE': line, 'COMP_POINT': str(len(line))}\n"
        "    os.environ |= {'_ARGCOMPLETE': '1'}\n"
        "    os.environ |= {'_ARGCOMPLETE_STDOUT_FILENAME': f'{out}/{number}'}\n"
        "    with contextlib.suppress(SystemExit): console.main()\n"
        "    assert not {'tensorflow', 'keras'} & {*sys.modules}, line"
    )
    asked = [f"elmo-keras {line}" for line in lines]
    assert run("-W", "ignore", "-c", code, tmp_path, *asked)[0] == 0
    for number, (line, expected) in enumerate(lines.items()):
        answer = tmp_path / str(number)
        found = answer.read_text().split("\v") if answer.exists() else []
        assert {*filter(None, found)} == expected, line


CONSOLE = "from elmo_keras.util.console import main; exit(main())"


@pytest.mark.parametrize(
    "command",
    [
        ["-m", "elmo_keras.tasks.tag", *"--train no --output no".split()],
        ["train.py", "--output", "no/folder", "--dry-run"],
        ["-c", CONSOLE, *"tag --train no --output no".split()],
    ],
    ids=["module", "file", "console"],
)
def test_another_backend_of_keras_is_refused(command):
    status, _, error = run(*command, KERAS_BACKEND="jax")
    assert status and error.endswith("set KERAS_BACKEND=tensorflow.\n")
    assert "Traceback" not in error
    assert "jax" not in error.replace("Found the backend 'jax'", "")


def test_output_that_nobody_reads_ends_a_command():
    code = (
        "import sys; from elmo_keras.util.command import run_command\n"
        "sys.exit(run_command('p', lambda: [print('x') for _ in range(10**6)] and 0))"
    )
    command = [sys.executable, "-c", code]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipe) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait() == 141


def test_a_character_that_the_terminal_lacks_is_shown_by_its_code(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", stream)
    command_parser("program", "Layers → vectors, 한").print_help()
    stream.flush()
    assert b"Layers \\u2192 vectors, \\ud55c" in stream.buffer.getvalue()


def test_a_command_that_sigterm_stopped_has_its_status(usual_handler):
    def work(number):
        with stopping():
            os.kill(os.getpid(), number)
        return 130

    assert run_command("p", lambda: work(signal.SIGTERM)) == 143
    assert run_command("p", lambda: work(signal.SIGINT)) == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_sets_the_event(number, usual_handler):
    before = signal.getsignal(number)
    with stopping() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        assert stop.is_set()
        assert signal.getsignal(number) == before
    assert signal.getsignal(number) == before


def test_the_second_ctrl_c_interrupts(usual_handler):
    with pytest.raises(KeyboardInterrupt), stopping() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.is_set()
        os.kill(os.getpid(), signal.SIGINT)
