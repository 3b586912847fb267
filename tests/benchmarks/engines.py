"""Compares engines that embed a corpus, from the start of the command to its end.

    python -m tests.benchmarks.engines --text FILE

The first --sentences of FILE, one a line, are embedded with a model of random weights,
the mean over the tokens of each, by the file command and by engines with several workers,
in turns. Processor seconds are those of all processes of a command. The vectors are
compared with those of the file command. --python is an interpreter with the engines.
"""

import shutil
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from elmo_keras.util.command import CommandFailed
from tests.benchmarks import runner
from tests.benchmarks.embedding import n_tokens
from tests.support.embedding_runs import CONSOLE
from tests.support.processes import descendants, processor_seconds

FIRST = "embed"  # what the others are compared with
RAY = ["--engine", "ray", "--workers"]
ENGINES = {  # more arguments of `embed`
    FIRST: [],
    "Ray, 1 worker": [*RAY, "1"],
    "Ray, 2 workers": [*RAY, "2"],
    "Ray, 4 workers": [*RAY, "4"],
}
OTHERS = tuple(ENGINES)[1:]
BETWEEN_LOOKS = 0.3  # seconds


def main(
    *,
    text: Path,
    presets: Sequence[runner.Preset] = ("small",),
    sentences: runner.Count = 20_000,
    rounds: runner.Count = 3,
    engines: Sequence[str] = OTHERS,
    python: str = sys.executable,
) -> None:
    given = runner.read(text, sentences)
    tokens = n_tokens(given)
    print(f"{sentences:,} sentences of {tokens:,} tokens\n")
    columns = "seconds: median (lowest – highest)", "tokens/s", "to the file command"
    more = "processor seconds", "largest difference"
    runner.head("preset", "engine", *columns, *more)
    for preset in presets:
        with runner.inputs(preset, given) as folder:
            found = runner.in_turns(
                {name: ENGINES[name] for name in (FIRST, *engines)},
                lambda engine, _, f=folder: turn(engine, f, python),
                rounds=rounds,
            )
        seconds = {name: [took for took, _, _ in own] for name, own in found.items()}
        for name, (spread, ratio) in runner.compared(seconds, 1).items():
            _, processor, vectors = zip(*found[name])
            pairs = zip(vectors, (own[2] for own in found[FIRST]))
            off = max(np.abs(a - b).max() for a, b in pairs)
            rate = f"{tokens / statistics.median(seconds[name]):,.0f}"
            cells = runner.spread(processor, 1), f"{off:.1e}"
            runner.row(preset, name, spread, rate, ratio, *cells)


def turn(
    engine: list[str], folder: Path, python: str
) -> tuple[float, float, np.ndarray]:
    """Lets an engine embed: seconds, processor seconds, and the vectors in order."""
    text, output = folder / "sentences.txt", folder / "out.parquet"
    command = ["-c", CONSOLE, "embed", text, output, "--model", folder]
    command += ["--layers", "average", "--pooling", "mean", *engine]
    seconds, processor = timed([python, *command])
    table = pq.read_table(output, columns=["id", "vector"]).sort_by("id")
    if table["id"].to_pylist() != list(range(len(table))):
        raise CommandFailed(f"{command} should have written each sentence once.")
    shutil.rmtree(output) if output.is_dir() else output.unlink()
    return seconds, processor, np.stack(table["vector"].to_numpy())


def timed(command: Sequence[object]) -> tuple[float, float]:
    """Runs a command; returns its seconds, and those of all its processes together."""
    start, computed = time.perf_counter(), {}
    with runner.finished(command) as process:
        while process.poll() is None:
            for pid in [process.pid, *descendants(process.pid)]:
                computed[pid] = max(computed.get(pid, 0.0), processor_seconds(pid))
            time.sleep(BETWEEN_LOOKS)
    return time.perf_counter() - start, sum(computed.values())


if __name__ == "__main__":
    runner.run(main)
