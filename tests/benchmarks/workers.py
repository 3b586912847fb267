"""Systems in processes and environments of their own, and tables of results.

A worker is a process that answers each line of its input with a line of JSON, and
waits otherwise. Workers that take turns are measured side by side: whatever else the
machine does affects all of them.
"""

import contextlib
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
ENVIRONMENTS = _CACHE / "elmo_keras" / "environments"


class Worker:
    """A system in a process of its own.

    Attributes:
        name: for tables.
        hello: the JSON that it sends when it is ready.
        seconds_to_hello: from the start of the process until then.
    """

    def __init__(self, name: str, process: subprocess.Popen, log: Path):
        self.name, self.process, self.log = name, process, log
        start = time.perf_counter()
        self.hello = self._answer()
        self.seconds_to_hello = time.perf_counter() - start

    def ask(self, line: str) -> Any:
        """Sends a line; returns the JSON of the answer.

        Raises:
            RuntimeError: the process ended; the message has the end of its log.
        """
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self._answer()

    def peak_memory(self) -> float:
        """The process's peak memory so far, in GB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e9

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            said = self.log.read_text(errors="replace")[-3000:]
            raise RuntimeError(f"{self.name} ended before it answered:\n{said}")
        return json.loads(line)


@contextlib.contextmanager
def started(
    name: str,
    command: Sequence[str | Path],
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Worker]:
    """A worker, which ends with the block.

    Args:
        name: the worker's name.
        command: interpreter, script, arguments.
        folder: for its log.
        environment: variables besides this process's own.
    """
    quiet = {"PYTHONUTF8": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    log = folder / f"{name.replace(' ', '-')}.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            command,
            env=os.environ | quiet | dict(environment or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        yield Worker(name, process, log)
    finally:
        process.kill()
        process.communicate()


def python_with(
    packages: Sequence[str], bare: Sequence[str] = (), folder: Path = ENVIRONMENTS
) -> Path:
    """The interpreter of an environment, which is made if it is missing.

    Args:
        packages: installed by pip, with versions.
        bare: installed without dependencies.
        folder: holds the environments.
    """
    place = folder / "-".join((*bare, *packages)).replace("==", "-")
    python, complete = place / "bin" / "python", place / "complete"
    if not complete.exists():
        print(f"Installing {', '.join((*bare, *packages))} in {place}", file=sys.stderr)
        venv.create(place, clear=True, with_pip=True)
        pip = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *packages], check=True, stdout=sys.stderr)
        if bare:
            subprocess.run([*pip, "--no-deps", *bare], check=True, stdout=sys.stderr)
        complete.touch()
    return python


def use_processors(number: int) -> None:
    """Binds this process and its children; TensorFlow starts a thread for each."""
    allowed = sorted(os.sched_getaffinity(0))
    if number > len(allowed):
        raise ValueError(f"--threads {number}: there are {len(allowed)} processors.")
    os.sched_setaffinity(0, allowed[:number])


def read(path: Path) -> list[list[str]]:
    """The sentences, split at everything that any system takes for white space."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return [tokens for tokens in map(str.split, lines) if tokens]


def spread(values: Sequence[float], digits: int = 0) -> str:
    """Median, lowest and highest value, for a table."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:,.{digits}f} ({low:,.{digits}f} – {high:,.{digits}f})"


def row(cells: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def heading(columns: Sequence[str]) -> str:
    """The first two lines of a Markdown table."""
    return f"{row(columns)}\n{row(['---'] * len(columns))}"


def machine(threads: int) -> str:
    """The number and name of the processors, and the date."""
    info = Path("/proc/cpuinfo").read_text().split("\n")
    names = [line.split(":")[1].strip() for line in info if "model name" in line]
    name = names[0] if names else platform.machine()
    return f"{threads} of {os.cpu_count()} × {name}, {datetime.date.today()}"
