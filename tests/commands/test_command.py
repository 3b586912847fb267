"""The frame of commands: help, errors in one line, exit statuses, stopping."""

import errno
import io
import os
import re
import signal
import subprocess
import sys

import cyclopts
import pytest

import elmo_keras
from elmo_keras.commands import arguments, console
from elmo_keras.commands.command import CommandFailed, prepare_streams, stopping
from elmo_keras.commands.command import run as run_work
from tests.support.commands import COMMANDS, app_of
from tests.support.paths import ROOT


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
    assert run_work("prog", work, "Interrupted. Resumes.") == status
    shown = capsys.readouterr()
    assert shown.err == (f"prog: {line}\n" if line else "") and shown.out == ""
    with pytest.raises(TypeError):  # an error of the program itself is not hidden
        run_work("prog", raising(TypeError()))


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
        "import contextlib, io, sys; from elmo_keras.commands import console\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    console.main(['--help'])\n"
        "assert 'numpy' not in sys.modules\n"
        "for command in sys.argv[1:]:\n"
        "    name, *arguments = command.split()\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as shown:\n"
        "        with contextlib.redirect_stderr(shown):\n"
        "            console.main([name, *arguments])\n"
        "    words = command.removesuffix(' --help')\n"
        "    assert f'elmo-keras {words}' in shown.getvalue(), command\n"
        "    assert not {'tensorflow', 'keras'} & {*sys.modules}, command"
    )
    commands = [f"{name} --help" for name in ("train-head", *COMMANDS)]
    assert run("-W", "ignore::RuntimeWarning", "-c", code, *commands) == (0, "", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help_and_markdown_keeps_it(name):
    command = app_of(name)
    options = command.assemble_argument_collection(parse_docstring=True)
    shown = [option for option in options if option.show]
    assert [o.name for o in shown if not o.parameter.help] == []
    texts = [command.help, *(option.parameter.help for option in shown)]
    assert not [text for text in texts if re.search(r"(?<!`)</?\w+>", text)]


def test_the_list_names_every_command_in_its_group(capsys):
    assert console.main([]) == 0
    _, *shown = re.split(r"╭─ (.+?) ─+╮", capsys.readouterr().out)
    groups = dict(zip(shown[::2], shown[1::2]))
    assert [*groups] == ["Commands", *console.GROUPS]
    for group, commands in console.GROUPS.items():
        for name, (_, line) in commands.items():
            assert re.search(rf"{name} +{re.escape(line[:50])}", groups[group])


@pytest.mark.parametrize(
    ("type_", "text", "value", "refused"),
    [
        (arguments.Count, "3", 3, ["0", "1.5", "many"]),
        (arguments.Index, "0", 0, ["-1"]),
        (arguments.Positive, "1e-9", 1e-9, ["0", "nan", "inf"]),
        (arguments.NonNegative, "0.5", 0.5, ["-1", "inf"]),
        (arguments.Finite, "-1e30", -1e30, ["nan", "-inf"]),
        (arguments.Rate, "0", 0.0, ["1", "nan"]),
        (arguments.Share, "1", 1.0, ["0", "1.1"]),
        (arguments.Seconds, "86400", 86400.0, ["86401"]),
        (arguments.Seed, "4294967295", 2**32 - 1, ["4294967296"]),
        (arguments.Port, "0", 0, ["65536"]),
        (arguments.Mix, "1,-2.5", [1.0, -2.5], ["1,inf", "x"]),
        (arguments.Layers, "mix", "mix", ["bottom", "-1"]),
        (arguments.Layers, "2", 2, []),
    ],
)
def test_a_value_in_the_range_is_read_and_another_refused(type_, text, value, refused):
    def command(*, x: type_):
        return x

    app = cyclopts.App(
        exit_on_error=False, print_error=False, result_action="return_value"
    )
    app.default(command)
    read = app(["--x", *text.split()])
    assert read == value and type(read) is type(value)
    for wrong in refused:
        with pytest.raises(cyclopts.CycloptsError, match="--x"):
            app(["--x", *wrong.split()])


@pytest.mark.parametrize(
    ("level", "then", "error"),
    [
        ("3", "", ""),
        ("3", "raise ImportError('broken')", "I0000 log\np: broken\n"),
    ],
)
def test_a_command_shows_what_tensorflow_logs_if_its_import_fails(
    tmp_path, level, then, error
):
    (tmp_path / "keras.py").write_text(
        f"import os; os.write(2, b'I0000 log\\n')\n{then}"
    )
    code = (
        "from elmo_keras.commands.command import import_tensorflow, run\n"
        "run('p', import_tensorflow)"
    )
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    assert run("-c", code, PYTHONPATH=path, TF_CPP_MIN_LOG_LEVEL=level)[2] == error


def test_the_library_leaves_the_process_as_it_is(tmp_path):
    """Descriptors, the garbage collector, the environment; LiteRT's line is its own."""
    code = (
        "import gc, os\n"
        "state = lambda: (dict(os.environ), gc.isenabled(), os.fstat(2))\n"
        "before = state()\n"
        "os.dup2 = os.dup = gc.disable = None\n"
        "from elmo_keras import Embedder; Embedder('en')('a')\n"
        "assert state() == before"
    )
    status, _, error = run("-c", code, ELMO_KERAS_CACHE=str(tmp_path))
    assert not status and re.fullmatch(
        "(INFO: Created .* XNNPACK delegate.*\n)?", error
    )


CONSOLE = "from elmo_keras.commands.console import main; exit(main())"


def test_the_package_is_the_program_and_has_its_version():
    shown = run("-m", "elmo_keras", "score", "no")
    assert shown == (2, "", "elmo-keras score: There is no file no.\n")
    assert elmo_keras.__version__ == "0.4.0"


def test_another_backend_of_keras_is_refused():
    command = ["train-head", "pos", "--train", __file__, "--output", "no"]
    status, _, error = run("-c", CONSOLE, *command, KERAS_BACKEND="jax")
    assert status and error.endswith("set KERAS_BACKEND=tensorflow.\n")
    assert "Traceback" not in error
    assert "jax" not in error.replace("Found the backend 'jax'", "")


def test_output_that_nobody_reads_ends_a_command():
    code = (
        "import sys; from elmo_keras.commands.command import run\n"
        "sys.exit(run('p', lambda: [print('x') for _ in range(10**6)] and 0))"
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
    prepare_streams()
    print("Layers → vectors, 한")
    stream.flush()
    assert b"Layers \\u2192 vectors, \\ud55c" in stream.buffer.getvalue()


def test_a_command_that_sigterm_stopped_has_its_status(usual_handlers, capsys):
    def work(number):
        with stopping():
            os.kill(os.getpid(), number)
            raise KeyboardInterrupt

    assert run_work("p", lambda: work(signal.SIGTERM)) == 143
    assert run_work("p", lambda: work(signal.SIGHUP)) == 129
    assert run_work("p", lambda: work(signal.SIGINT)) == 130
    assert capsys.readouterr().err == "p: Interrupted.\n" * 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_sets_the_event(number, usual_handlers):
    before = signal.getsignal(number)
    with stopping() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        assert stop.is_set()
        assert signal.getsignal(number) == before
    assert signal.getsignal(number) == before


def test_nohup_holds():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopping() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop.is_set()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_second_ctrl_c_interrupts(usual_handlers):
    with pytest.raises(KeyboardInterrupt), stopping() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.is_set()
        os.kill(os.getpid(), signal.SIGINT)
