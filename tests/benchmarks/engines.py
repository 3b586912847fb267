"""Compares engines that embed a corpus, from the start of the command to its end.

    python -m tests.benchmarks.engines --text FILE

FILE holds one sentence a line. Its first --sentences are embedded with a model of
random weights, the mean over the tokens of each, by the file command and by engines
with several workers. The engines take turns for --rounds rounds; all use the same
processors. Start-up counts. Processor seconds are those of all processes that the
command starts; on a busy machine they say more than seconds. The vectors of each are compared with those of the file
command. --python is an interpreter in which the engines are installed.
"""

import argparse
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq

from elmo_keras import BidirectionalLanguageModel, ElmoConfig
from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import CommandFailed, run_command
from elmo_keras.config import PRESETS
from elmo_keras.model_files.model_directory import save_model
from tests.benchmarks.engines_beam import beam
from tests.benchmarks.workers import (
    ROOT,
    heading,
    machine,
    read,
    row,
    spread,
    use_processors,
)
from tests.support.processes import descendants, processor_seconds

COLUMNS = (
    "preset",
    "engine",
    "seconds: median (lowest – highest)",
    "tokens/s",
    "to the file command",
    "processor seconds",
    "largest difference",
)


class Job(NamedTuple):
    """What an engine is asked to do.

    Attributes:
        python: the interpreter.
        text, model, output: paths; the output is a Parquet file or a folder of them.
    """

    python: str
    text: Path
    model: Path
    output: Path


def file_command(job: Job) -> list[str]:
    """The command without an engine."""
    files = [str(job.text), str(job.output), "--model", str(job.model)]
    kind = ["--layers", "average", "--pooling", "mean"]
    return [job.python, "-m", "elmo_keras.embed", *files, *kind]


def ray(workers: int) -> Callable[[Job], list[str]]:
    """The command with Ray and this many workers."""
    return lambda job: [
        *file_command(job),
        "--engine",
        "ray",
        "--workers",
        f"{workers}",
    ]


ENGINES: dict[str, Callable[[Job], list[str]]] = {
    "embed": file_command,
    "Ray, 1 worker": ray(1),
    "Ray, 2 workers": ray(2),
    "Ray, 4 workers": ray(4),
    "Beam, 2 workers": beam(2),
}
BETWEEN_LOOKS = 0.3  # seconds
FIRST = "embed"  # what the others are compared with


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command("engines.py", lambda: report(options))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = p.add_argument
    add("--text", required=True, metavar="FILE", type=Path)
    add("--preset", default="small", choices=sorted(PRESETS))
    add("--sentences", type=positive(int), default=20_000)
    names = [name for name in ENGINES if name != FIRST]
    add("--engines", nargs="+", default=names, choices=names)
    add("--rounds", type=positive(int), default=3)
    add("--python", default=sys.executable, help="where the engines are installed")
    cores = len(os.sched_getaffinity(0))
    add("--threads", type=positive(int), default=cores, help="processors to use")
    return p


def report(options: argparse.Namespace) -> None:
    """Measures and prints the table."""
    sentences = read(options.text)
    if len(sentences) < options.sentences:
        raise ValueError(
            f"{options.sentences:,} sentences are needed, and the text has "
            f"{len(sentences):,}."
        )
    sentences = sentences[: options.sentences]
    n_tokens = sum(map(len, sentences))
    use_processors(options.threads)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = (" ".join(tokens) for tokens in sentences)
        (folder / "text.txt").write_text("\n".join(lines), encoding="utf-8")
        bilm = BidirectionalLanguageModel(ElmoConfig.preset(options.preset))
        bilm.build()
        save_model(folder / "model", bilm)
        names = [FIRST, *options.engines]
        took = turns(names, folder, options.python, rounds=options.rounds)
    print(f"{len(sentences):,} sentences of {n_tokens:,} tokens\n\n{heading(COLUMNS)}")
    first = statistics.median(took[FIRST].seconds)
    for engine, measured in took.items():
        median = statistics.median(measured.seconds)
        cells = [spread(measured.seconds, 1), f"{n_tokens / median:,.0f}"]
        cells += [f"{median / first:.2f}", spread(measured.processor_seconds, 1)]
        print(row([options.preset, engine, *cells, f"{measured.difference:.1e}"]))
    print(f"\n{machine(options.threads)}")


class Measured:
    """The turns of an engine.

    Attributes:
        seconds, processor_seconds: of each turn.
        difference: the largest difference of its vectors from those of `FIRST`.
    """

    def __init__(self):
        self.seconds, self.processor_seconds = [], []
        self.difference = 0.0


def turns(
    names: Sequence[str], folder: Path, python: str, *, rounds: int
) -> dict[str, Measured]:
    """Lets the engines embed in turns."""
    took = {name: Measured() for name in names}
    expected = None
    for _, name in itertools.product(range(rounds), names):
        job = Job(python, folder / "text.txt", folder / "model", folder / "out.parquet")
        seconds, processor = timed(ENGINES[name](job))
        took[name].seconds.append(seconds)
        took[name].processor_seconds.append(processor)
        print(f"{name}: {seconds:.1f} s, {processor:.1f}", file=sys.stderr, flush=True)
        found = vectors_of(job.output)
        expected = found if expected is None else expected
        difference = float(np.abs(found - expected).max())
        took[name].difference = max(difference, took[name].difference)
        remove(job.output)
    return took


def timed(command: Sequence[str]) -> tuple[float, float]:
    """Runs a command; returns its seconds, and those of all its processes together.

    Raises:
        CommandFailed: it failed; the message has the end of what it said.
    """
    start, computed = time.perf_counter(), {}
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    with tempfile.TemporaryFile("w+") as said:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": said}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, **quiet)
        while process.poll() is None:
            for pid in [process.pid, *descendants(process.pid)]:
                computed[pid] = max(computed.get(pid, 0.0), processor_seconds(pid))
            time.sleep(BETWEEN_LOOKS)
        seconds = time.perf_counter() - start
        if process.returncode:
            said.seek(0)
            raise CommandFailed(f"{' '.join(command)} failed: {said.read()[-2000:]}")
    return seconds, sum(computed.values())


def vectors_of(output: Path) -> np.ndarray:
    """The vectors of all sentences, in the order of their ids."""
    table = pq.read_table(output, columns=["id", "vector"]).sort_by("id")
    assert table["id"].to_pylist() == list(range(len(table))), "each sentence once"
    return np.stack(table["vector"].to_numpy())


def remove(output: Path) -> None:
    """Removes an output, so that the next engine begins anew."""
    if output.is_dir():
        shutil.rmtree(output)
    else:
        output.unlink()


if __name__ == "__main__":
    sys.exit(main())
