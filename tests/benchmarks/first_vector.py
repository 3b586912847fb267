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

import numpy as np

from tests.benchmarks import runner
from tests.benchmarks.embedding import ALLENNLP

STAGES = ("import", "read", "first", "second")
Ends = dict[str, tuple[float, float]]  # of the stages: seconds, processor seconds


@runner.command
def main(
    *,
    text: runner.File,
    checkout: runner.Folder = None,
    presets: runner.Presets = ("small", "original"),
    rounds: runner.Number = 5,
    python: runner.Python = sys.executable,
) -> None:
    """Measures and prints the table."""
    sentences = runner.read(text, 1)
    systems = {ALLENNLP: ("with_allennlp", "first", {})}
    for name, folder in {"": runner.ROOT, "other: ": checkout}.items():
        for way in ("eager", "embedder") if folder else ():
            options = {"python": python, "checkout": folder}
            systems[f"{name}{way}"] = ("ours", f"first-{way}", options)
    total = "start to first vectors"
    runner.head("preset", "system", *STAGES, total, f"to {ALLENNLP}", "processor")
    for preset in presets:
        with runner.inputs(preset, sentences) as folder:

            def start(system, _, folder=folder):
                script, way, options = system
                begin = time.time()
                with runner.worker(script, folder, way, **options) as worker:
                    ends = worker.hello.items()
                    return {name: (end - begin, used) for name, (end, used) in ends}

            # The first round fills the caches of files.
            found = runner.in_turns(systems, start, rounds=rounds, warm_up=1)
        for cells in rows(found):
            runner.row(preset, *cells)


def rows(starts: dict[str, list[Ends]]) -> list[list[str]]:
    """The cells of each system's row."""
    totals = {name: [s["first"][0] for s in some] for name, some in starts.items()}
    cells = []
    for name, some in starts.items():
        ends = np.array([[0.0, *(s[stage][0] for stage in STAGES)] for s in some])
        took = np.median(np.diff(ends), axis=0)
        processor = statistics.median(s["first"][1] for s in some)
        compared = (
            runner.spread(totals[name], 2),
            runner.ratio(totals[name], totals[ALLENNLP]),
        )
        stages = [f"{seconds:.2f}" for seconds in took]
        cells.append([name, *stages, *compared, f"{processor:.2f}"])
    return cells


if __name__ == "__main__":
    sys.exit(main())
