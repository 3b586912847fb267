"""What all benchmarks share: options, workers that take turns, and tables.

A benchmark is `python -m tests.benchmarks.NAME`. What it compares runs in workers:
processes of `workers/`, each in the environment or checkout of its system, which answer
a line of JSON with a line of JSON and wait otherwise. They take turns, so that whatever
else the machine does affects all of them. `taskset` bounds the processors.
"""

import argparse
import contextlib
import datetime
import itertools
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from elmo_keras import BidirectionalLanguageModel, ElmoConfig
from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import command_parser, run_command
from elmo_keras.config import PRESETS
from elmo_keras.model_files.model_directory import save_model

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
ENVIRONMENTS = _CACHE / "elmo_keras" / "environments"
TENSORFLOW = ("tensorflow==2.21.0", "tf_keras==2.21.0")
PEERS = {  # script → packages of its environment, and those without dependencies
    "with_allennlp": (
        ("torch==2.13.0", "h5py==3.16.0", "numpy==2.4.6"),
        ("allennlp==2.10.1",),
    ),
    "with_simple_elmo": (("simple-elmo==0.9.2", *TENSORFLOW), ()),
}
PEERS["epochs_allennlp"] = PEERS["with_allennlp"]
PEERS["bilm_tf"] = PEERS["with_simple_elmo"]
OPTIONS = {  # options of several benchmarks, which give their own defaults
    "text": {"required": True, "metavar": "FILE", "type": Path},
    "checkout": {"metavar": "DIR", "type": Path, "help": "another one to compare"},
    "presets": {"nargs": "+", "choices": sorted(PRESETS)},
    "sentences": {"type": positive(int), "help": "of the random sample"},
    "batch_sizes": {"nargs": "*", "type": positive(int)},
    "rounds": {"type": positive(int)},
    "seconds": {"type": positive(float), "help": "of each row, at least 3 rounds"},
}
MIN_ROUNDS = 3


def parser(doc: str, **defaults: Any) -> argparse.ArgumentParser:
    """The command line of a benchmark, whose docstring names it, with some `OPTIONS`."""
    p = command_parser(re.search(r"tests\.benchmarks\.\w+", doc)[0], doc)
    for option, default in defaults.items():
        flag = "--" + option.replace("_", "-")
        p.add_argument(flag, default=default, **OPTIONS[option])
    return p


def run(
    p: argparse.ArgumentParser,
    report: Callable[..., int | None],
    arguments: Sequence[str] | None,
) -> int:
    """Calls `report` with the options, and prints the machine; returns the status."""
    options = vars(p.parse_args(arguments))

    def work():
        status = report(**options)
        print(f"\n{machine()}")
        return status

    return run_command(p.prog.removeprefix("python -m "), work)


class Worker:
    """A system in a process of its own.

    Attributes:
        hello: the JSON that it sends when it is ready.
    """

    def __init__(self, process: subprocess.Popen, log: Path):
        self.process, self._log = process, log
        self.hello = self._answer()

    def ask(self, name: str, **arguments: Any) -> Any:
        """Sends a request; returns the answer.

        Raises:
            RuntimeError: the process ended; the message has the end of its log.
        """
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps([name, arguments]), file=self.process.stdin, flush=True)
        return self._answer()

    def peak_memory(self) -> float:
        """The process's peak memory so far, in GB."""
        return peak_memory(self.process.pid)

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            said = self._log.read_text(errors="replace")[-3000:]
            raise RuntimeError(f"{self._log.stem} ended before it answered:\n{said}")
        return json.loads(line)


@contextlib.contextmanager
def worker(
    script: str, *arguments: str | Path, python: str = "", checkout: Path = ROOT
) -> Iterator[Worker]:
    """A process of `workers/SCRIPT.py`, which ends with the block.

    Args:
        script: a key of `PEERS`, or one that runs on a checkout.
        *arguments: of the script.
        python: its interpreter, if it is not the usual one.
        checkout: the `elmo_keras` that it imports.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / f"{script}.log"
        with log.open("w") as errors:
            process = subprocess.Popen(
                [python or interpreter(script), HERE / f"workers/{script}.py"]
                + [str(argument) for argument in arguments],
                env=environment(None if script in PEERS else checkout),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        try:
            yield Worker(process, log)
        finally:
            process.kill()
            process.communicate()


def environment(checkout: Path | None) -> dict[str, str]:
    """The variables of a process that imports a checkout, or that of a peer."""
    own = {"PYTHONPATH": str(checkout.resolve())} if checkout else {}
    peer = {} if checkout else {"TF_USE_LEGACY_KERAS": "1"}
    quiet = {"PYTHONUTF8": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    return os.environ | quiet | own | peer


def interpreter(script: str, folder: Path = ENVIRONMENTS) -> Path:
    """The interpreter of a script; its environment is made if it is missing."""
    if script not in PEERS:
        return Path(sys.executable)
    packages, bare = PEERS[script]
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


def in_turns(
    asks: Mapping[Any, Callable[[int], Any]],
    *,
    rounds: int = MIN_ROUNDS,
    seconds: float = 0.0,
) -> dict[Any, list[Any]]:
    """Calls all with the number of the round, for some rounds and some time at least."""
    answers, end = {name: [] for name in asks}, time.monotonic() + seconds
    for i in itertools.count():
        if i >= rounds and time.monotonic() >= end:
            return answers
        for name, ask in asks.items():
            answers[name].append(ask(i))


def peak_memory(pid: int | str = "self") -> float:
    """The peak memory of a process so far, in GB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e9


def read(path: Path, number: int | None = None) -> list[list[str]]:
    """All sentences, or N of them in random order, the same ones each time.

    They are split at everything that any system takes for white space.

    Raises:
        ValueError: there are fewer sentences.
    """
    lines = path.read_text(encoding="utf-8").split("\n")
    sentences = [tokens for tokens in map(str.split, lines) if tokens]
    if number is None:
        return sentences
    if number > len(sentences):
        raise ValueError(
            f"{number:,} sentences are needed, and the text has {len(sentences):,}."
        )
    return random.Random(0).sample(sentences, number)


def write(path: Path, sentences: Sequence[Sequence[str]]) -> Path:
    """Writes a sentence a line; returns the path."""
    lines = (" ".join(sentence) + "\n" for sentence in sentences)
    path.write_text("".join(lines), encoding="utf-8")
    return path


@contextlib.contextmanager
def inputs(preset: str, sentences: Sequence[Sequence[str]] = ()) -> Iterator[Path]:
    """A folder with a model of random weights, and `sentences.txt`.

    Kernels are normal with a variance of 1 / fan-in, so that the activations of all
    layers are as large as a trained model's; other weights stay as initialised.
    """
    keras.utils.set_random_seed(0)
    drawn = np.random.default_rng(0)
    bilm = BidirectionalLanguageModel(ElmoConfig.preset(preset))
    bilm.build()
    for weight in bilm.weights:
        if "kernel" in weight.name:
            fan_in = np.prod(weight.shape[:-1])
            weight.assign(drawn.normal(0, fan_in**-0.5, weight.shape))
    with tempfile.TemporaryDirectory() as name:
        save_model(Path(name), bilm)
        write(Path(name) / "sentences.txt", sentences)
        yield Path(name)


def spread(values: Sequence[float], digits: int = 0) -> str:
    """Median, lowest and highest value, for a table."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:,.{digits}f} ({low:,.{digits}f} – {high:,.{digits}f})"


def ratio(values: Sequence[float], others: Sequence[float]) -> str:
    """The median of the values, as a multiple of that of others."""
    return f"{statistics.median(values) / statistics.median(others):.2f}"


def head(*columns: str) -> None:
    """Prints the first two lines of a Markdown table."""
    row(*columns)
    row(*["---"] * len(columns))


def row(*cells: object) -> None:
    """Prints a row of a Markdown table; whole numbers get their commas."""
    texts = (f"{cell:,}" if isinstance(cell, int) else f"{cell}" for cell in cells)
    print(f"| {' | '.join(texts)} |", flush=True)


def machine() -> str:
    """The number and name of the processors, and the date."""
    info = Path("/proc/cpuinfo").read_text().split("\n")
    names = [line.split(":")[1].strip() for line in info if "model name" in line]
    name = names[0] if names else platform.machine()
    used = len(os.sched_getaffinity(0))
    return f"{used} of {os.cpu_count()} × {name}, {datetime.date.today()}"
