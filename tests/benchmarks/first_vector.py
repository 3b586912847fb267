"""Measures the time from the start of a process to the vectors of its first sentence.

    python -m tests.benchmarks.first_vector --text FILE

Each start is a new process, and the systems take turns: AllenNLP 2.10.1 (`embedding.py`
says how it is run), `Elmo.layers` called eagerly, and an `Embedder`; with --checkout,
also those of another checkout. All read the same random weights.

Keras imports matplotlib where it is installed: --python names an environment without it,
in which elmo-keras' dependencies are installed.
"""

import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks import runner
from tests.benchmarks.embedding import ALLENNLP
from tests.benchmarks.runner import ROOT, head, in_turns, ratio, row, spread

STAGES = ("import", "read", "first", "second")
Ends = dict[str, tuple[float, float]]  # of the stages: seconds, processor seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    presets = ["small", "original"]
    p = runner.parser(__doc__, text=None, checkout=None, presets=presets, rounds=5)
    p.add_argument("--python", default=sys.executable, metavar="FILE")
    return runner.run(p, report, arguments)


def report(text: Path, checkout, presets, rounds: int, python: str) -> None:
    """Measures and prints the table."""
    sentences = runner.read(text, 1)
    systems = {ALLENNLP: ("with_allennlp", "first", {})}
    for name, folder in {"": ROOT, "other: ": checkout}.items():
        for way in ("eager", "embedder") if folder else ():
            options = {"python": python, "checkout": folder}
            systems[f"{name}{way}"] = ("ours", f"first-{way}", options)
    total = "start to first vectors"
    head("preset", "system", *STAGES, total, f"to {ALLENNLP}", "processor")
    for preset in presets:
        with runner.inputs(preset, sentences) as folder:
            asks = {
                name: lambda _, s=script, w=way, o=options: start(s, folder, w, **o)
                for name, (script, way, options) in systems.items()
            }
            in_turns(asks, rounds=1)  # fills the caches of files
            for cells in rows(in_turns(asks, rounds=rounds)):
                row(preset, *cells)


def start(script: str, *arguments, **options) -> Ends:
    """The ends of the stages of one start, in seconds since it."""
    begin = time.time()
    with runner.worker(script, *arguments, **options) as worker:
        return {n: (end - begin, used) for n, (end, used) in worker.hello.items()}


def rows(starts: dict[str, list[Ends]]) -> list[list[str]]:
    """The cells of each system's row."""
    totals = {name: [s["first"][0] for s in some] for name, some in starts.items()}
    cells = []
    for name, some in starts.items():
        ends = [[0.0, *(s[stage][0] for stage in STAGES)] for s in some]
        took = [
            statistics.median(e[i + 1] - e[i] for e in ends) for i in range(len(STAGES))
        ]
        processor = statistics.median(s["first"][1] for s in some)
        cells.append(
            [
                name,
                *(f"{seconds:.2f}" for seconds in took),
                spread(totals[name], 2),
                ratio(totals[name], totals[ALLENNLP]),
                f"{processor:.2f}",
            ]
        )
    return cells


if __name__ == "__main__":
    sys.exit(main())
