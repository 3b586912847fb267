"""Shared by all commands: errors in one line, exit statuses, stopping."""

import contextlib
import errno
import gc
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator

from elmo_keras.base.extras import EXTRAS, missing_packages, needs_tensorflow
from elmo_keras.base.messages import waiting

FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130  # exit statuses besides 0
BY_SIGNAL = 128  # plus the number of the signal
OUTPUT_CLOSED = BY_SIGNAL + 13  # SIGPIPE
LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
DISK_ERRORS = errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO


class CommandFailed(Exception):
    """The work failed although arguments and input were right; the status is 1."""


class Stopped(KeyboardInterrupt):
    """The work ended within `stopping`, after a signal."""

    def __init__(self, text: str, signal_number: int):
        super().__init__(text)
        self.status = BY_SIGNAL + signal_number


def prepare_streams() -> None:
    """Lets terminals that lack a character show its code, such as those of cp1252.

    A closed standard stream, which Python has as None, is opened on the null device:
    `print` would write an error to standard output, and a file could get its descriptor.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != descriptor:
                os.dup2(nowhere, descriptor)
                os.close(nowhere)
            mode = "w" if descriptor else "r"
            stream = open(descriptor, mode, closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
    for stream in sys.stdout, sys.stderr:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def run(
    program: str, work: Callable[[], int | None], interrupted: str = "Interrupted."
) -> int:
    """Runs a command's work; an error becomes one line on standard error.

    Returns:
        The exit status of the work; 2 for wrong arguments or input (`ValueError`,
        `OSError`, `ImportError`); 1 if the work itself failed (`CommandFailed`,
        `FloatingPointError`, a full or broken disk); 130 after Ctrl-C, 143 after
        SIGTERM, 129 after SIGHUP; 141 if nobody reads the output any more.
    """
    warnings.formatwarning = lambda message, *_, **__: f"{message}\n"
    try:
        status = work() or 0
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The buffered rest goes nowhere: Python would fail to write it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OUTPUT_CLOSED
    except MemoryError as error:
        return fail(program, FAILED, f"The memory is not enough. {error}")
    except (CommandFailed, FloatingPointError) as error:
        return fail(program, FAILED, error)
    except FileNotFoundError as error:
        absent = f"There is no file {error.filename}." if error.filename else error
        return fail(program, WRONG_INPUT, absent)
    except OSError as error:
        is_of_disk = error.errno in DISK_ERRORS
        return fail(program, FAILED if is_of_disk else WRONG_INPUT, error)
    except ImportError as error:
        return fail(program, WRONG_INPUT, import_problem(error))
    except ValueError as error:
        return fail(program, WRONG_INPUT, error)
    except KeyboardInterrupt as error:
        status = getattr(error, "status", INTERRUPTED)
        return fail(program, status, str(error) or interrupted)


def import_problem(error: ImportError) -> str:
    """Advice about a package that can't be imported."""
    backend = os.environ.get("KERAS_BACKEND", "tensorflow")
    if backend != "tensorflow":
        return (
            "elmo_keras needs Keras on TensorFlow. Found the backend "
            f"{backend!r}; set KERAS_BACKEND=tensorflow."
        )
    package = (error.name or "").split(".")[0]
    if package in ("keras", "tensorflow"):
        return needs_tensorflow("This")
    if isinstance(error, ModuleNotFoundError) and package in EXTRAS:
        return missing_packages(EXTRAS[package])
    return str(error)


@contextlib.contextmanager
def starting_libraries() -> Iterator[None]:
    """Hides what libraries log on standard error while a command starts them.

    All of it is shown if they fail, or if the user sets TensorFlow's level of logs.
    """
    if os.environ.setdefault(LOG_LEVEL, "3") != "3":
        yield
        return
    import tempfile  # milliseconds, which no help needs

    with tempfile.TemporaryFile() as log:
        stderr = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            yield
            log.truncate(0)
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            log.seek(0)
            os.write(2, log.read())


def import_tensorflow() -> None:
    """Imports TensorFlow and Keras for a command, without their logs."""
    gc.disable()  # a fifth of the time would go to searching new objects for garbage
    try:
        with waiting("Loading TensorFlow"), starting_libraries():
            import keras  # noqa: F401, it imports TensorFlow
    finally:
        gc.enable()


def fail(program: str, status: int, error: object) -> int:
    """Prints an error as one line on standard error; returns the status."""
    print(f"{program}: {' '.join(str(error).split())}", file=sys.stderr)
    return status


@contextlib.contextmanager
def stopping() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C, SIGTERM or SIGHUP sets; the second ends the program.

    An exception in the middle of a TensorFlow call could abort the program. A loop
    that checks the event between two steps ends cleanly. SIGHUP, of a terminal that is
    closed, stays ignored under `nohup`. A `KeyboardInterrupt` within the context becomes
    `Stopped`, which has the signal's status.
    """
    stop = threading.Event()
    hang_up = getattr(signal, "SIGHUP", signal.SIGTERM)  # Windows has none
    handlers = {
        sent: signal.getsignal(sent)
        for sent in (signal.SIGINT, signal.SIGTERM, hang_up)
        if sent != hang_up or signal.getsignal(sent) != signal.SIG_IGN
    }
    received: list[int] = []

    def handle(sent, _):
        stop.set()
        received.append(sent)
        signal.signal(sent, handlers[sent])

    try:
        for sent in handlers:
            signal.signal(sent, handle)
        yield stop
    except KeyboardInterrupt as error:
        sent = received[0] if received else signal.SIGINT
        raise Stopped(str(error), sent) from error
    finally:
        for sent, handler in handlers.items():
            signal.signal(sent, handler)
