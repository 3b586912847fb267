"""Shared by all commands: the parser, errors in one line, exit statuses, stopping."""

import argparse
import contextlib
import errno
import io
import os
import re
import reprlib
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130  # exit statuses besides 0
OUTPUT_CLOSED, TERMINATED = 128 + 13, 128 + 15  # as of SIGPIPE and SIGTERM
DISK_ERRORS = errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO

_REPR = reprlib.Repr()
_REPR.maxlevel = 4
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = _REPR.maxset = 50
_REPR.maxstring = _REPR.maxother = 200
MAX_LENGTH = 2000
_stopped_by: list[int] = []  # SIGTERM, once it has come


class CommandFailed(Exception):
    """The work failed although arguments and input were right; the status is 1."""


def command_parser(
    program: str, description: str | None, **options
) -> argparse.ArgumentParser:
    """A parser that prints the description with its line breaks.

    The command lines of the description, a module's docstring, become what was typed.
    `program` is the file or module that `python` or `python -m` runs in a checkout.
    """
    print_anything()
    typed, name = as_typed(program), re.escape(program.removesuffix(".py"))
    if description:
        shown = rf"python (-m {name}|{name}\.py)(?![.\w])"
        description = re.sub(shown, typed, description)
    return CommandParser(
        prog=typed,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        **options,
    )


class CommandParser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(fail(self.prog, WRONG_INPUT, f"{message}. See {self.prog} --help"))


def print_anything() -> None:
    """Lets terminals that lack a character show its code, such as those of cp1252."""
    for stream in sys.stdout, sys.stderr:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def as_typed(program: str) -> str:
    """The command as it was typed, so that its usage works as shown.

    `elmo-keras tag`, `python -m elmo_keras.tasks.tag`, or `python train.py`.
    """
    started, name = sys.argv[0], program.removesuffix(".py")
    if started.startswith("elmo-keras "):  # by cli/console.py
        return started
    spec = sys.modules["__main__"].__spec__
    if spec is None and Path(started).name == f"{name}.py":
        return f"python {started}"
    module = spec.name.removesuffix(".__main__") if spec else ""
    return f"python -m {module if f'.{module}'.endswith(f'.{name}') else name}"


def started_command() -> str:
    """The name of the package's command that runs or is imported; "" in other programs."""
    if sys.argv[0].startswith("elmo-keras "):  # by cli/console.py
        return sys.argv[0].split()[1]
    package, _, command = _run_by_m().removesuffix(".__main__").rpartition(".")
    return command if package.startswith("elmo_keras.") else ""


def _run_by_m():
    """The module that `python -m` runs, or is about to, as it was typed."""
    arguments = sys.orig_argv
    return arguments[arguments.index("-m") + 1] if "-m" in arguments else ""


def run_command(
    program: str,
    work: Callable[[], int | None],
    interrupted: str = "Interrupted.",
) -> int:
    """Runs a command's work; an error becomes one line on standard error.

    Returns:
        The exit status of the work; 2 for wrong arguments or input (`ValueError`,
        `OSError`, `ImportError`); 1 if the work itself failed (`CommandFailed`,
        `FloatingPointError`, a full or broken disk); 130 after Ctrl-C, 143 after
        SIGTERM; 141 if nobody reads the output any more.
    """
    _stopped_by.clear()
    try:
        status = work() or 0
        sys.stdout.flush()
        return TERMINATED if status == INTERRUPTED and _stopped_by else status
    except BrokenPipeError as error:
        if not _output_is_closed():
            return fail(program, WRONG_INPUT, error)
        return OUTPUT_CLOSED
    except MemoryError as error:
        return fail(program, FAILED, f"The memory is not enough. {error}")
    except (CommandFailed, FloatingPointError) as error:
        return fail(program, FAILED, error)
    except OSError as error:
        of_disk = error.errno in DISK_ERRORS
        return fail(program, FAILED if of_disk else WRONG_INPUT, error)
    except ImportError as error:
        return fail(program, WRONG_INPUT, import_problem(error))
    except ValueError as error:
        return fail(program, WRONG_INPUT, error)
    except KeyboardInterrupt:
        return fail(program, INTERRUPTED, interrupted)


def _output_is_closed():
    """Whether standard output is a pipe without a reader; it is written to no more."""
    if not hasattr(select, "poll"):  # Windows
        return False
    output, poll = sys.stdout.fileno(), select.poll()
    poll.register(output, 0)
    if not poll.poll(0):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), output)
    return True


def import_problem(error: ImportError) -> str:
    backend = os.environ.get("KERAS_BACKEND", "tensorflow")
    if backend == "tensorflow":
        return str(error)
    return (
        "elmo_keras needs Keras on TensorFlow. Found the backend "
        f"{backend!r}; set KERAS_BACKEND=tensorflow."
    )


def fail(program: str, status: int, error: object) -> int:
    """Prints an error as one line on standard error; returns the status."""
    if sys.argv[0].startswith("elmo-keras "):  # by cli/console.py, as it was typed
        program = sys.argv[0]
    print(f"{program}: {' '.join(str(error).split())}", file=sys.stderr)
    return status


@contextlib.contextmanager
def stopping() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C or SIGTERM sets; the second ends the program.

    An exception in the middle of a TensorFlow call could abort the program. A loop
    that checks the event between two steps ends cleanly.
    """
    stop = threading.Event()
    signals = signal.SIGINT, signal.SIGTERM
    before = {s: signal.getsignal(s) for s in signals}

    def handle(number, _):
        stop.set()
        if number == signal.SIGTERM:
            _stopped_by.append(number)
        signal.signal(number, before[number])

    try:
        for number in signals:
            signal.signal(number, handle)
        yield stop
    finally:
        for number in signals:
            signal.signal(number, before[number])


def shortened(value: object) -> str:
    """`repr(value)`, without most of it where it is very long or deep."""
    text = _REPR.repr(value)
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}…"
