"""Measures the time from the start of a process to the vectors of its first sentence.

    python -m tests.benchmarks.first_vector --text FILE

Each start is a new process; AllenNLP, `Elmo.all_layers` called eagerly, an `Embedder`
and one of int8 take turns. Keras imports matplotlib where it is installed: --python names
an environment with elmo-keras' dependencies and without it.
"""

import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.benchmarks import runner
from tests.benchmarks.embedding import ALLENNLP

STAGES = ("import", "read", "first", "second")
Ends = dict[str, tuple[float, float]]  # of the stages: seconds, processor seconds


def main(
    *,
    text: Path,
    presets: Sequence[runner.Preset] = ("small", "original"),
    rounds: runner.Count = 5,
    python: str = sys.executable,
) -> None:
    sentences = runner.read(text, 1)
    systems = {
        ALLENNLP: ("with_allennlp", "embedding", ""),
        "eager": ("ours", "eager", python),
        "embedder": ("ours", "embedder", python),
        "int8": ("in_litert", "int8", python),
    }
    total = "start to first vectors"
    runner.head("preset", "system", *STAGES, total, f"to {ALLENNLP}", "processor")
    for preset in presets:
        with runner.inputs(preset) as folder:
            found = runner.in_turns(
                systems,
                lambda system, _, f=folder: start(f, sentences, *system),
                rounds=rounds,
                warm_up=1,  # fills the caches of files
            )
        for cells in rows(found):
            runner.row(preset, *cells)


def start(
    folder: Path, batch: list[list[str]], script: str, way: str, python: str
) -> Ends:
    """The ends of the stages of one start, in seconds since it."""
    begin = time.time()
    with runner.worker(script, folder, way, python=python) as worker:
        ends = {"import": (worker.hello["imported"] - begin, 0.0)}
        ends["read"] = time.time() - begin, 0.0
        for name in ("first", "second"):
            used = worker.ask("run", batches=[batch])["processor"]
            ends[name] = time.time() - begin, used
    return ends


def rows(starts: dict[str, list[Ends]]) -> list[list[str]]:
    """The cells of each system's row, which is compared with the first one."""
    totals = {name: [s["first"][0] for s in some] for name, some in starts.items()}
    cells = []
    for name, compared in runner.compared(totals, 2).items():
        ends = [[0.0, *(s[stage][0] for stage in STAGES)] for s in starts[name]]
        stages = [f"{took:.2f}" for took in np.median(np.diff(ends), axis=0)]
        processor = statistics.median(s["first"][1] for s in starts[name])
        cells.append([name, *stages, *compared, f"{processor:.2f}"])
    return cells


if __name__ == "__main__":
    runner.run(main)
