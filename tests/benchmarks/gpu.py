"""What one GPU takes: training and embedding, beside the CPU's numbers and another checkout.

    python -m tests.benchmarks.gpu --text FILE --base CHECKOUT
    python -m tests.benchmarks.gpu --text FILE --presets test --rows 8 --sentences 64 --seconds 60

FILE holds one sentence a line, tokens separated by spaces. CHECKOUT is an earlier version
of this repository, such as 01a23c6, whose plain step and whose `Embedder` take turns with
this one's. Each line of the output is a row as JSON, printed when it is there: seconds to
build and to the first result, the seconds of each of 10 steps or passes, tokens a second,
the GPU's peak memory, and the greatest difference from the CPU's losses or vectors with
its tolerance. Rows that would start after --seconds are left out. The second command
rehearses it without a GPU.
"""

import itertools
import json
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.benchmarks import runner

THIS, BASE = "this", "base"
TRAINING = {  # way → arithmetic, further words for the worker
    "plain": ("float32",),
    "jit": ("float32", "jit"),
    "jit, two replicas": ("float32", "jit", "replicas"),
    "plain bfloat16": ("mixed_bfloat16",),
    "jit bfloat16": ("mixed_bfloat16", "jit"),
}
EMBEDDING = {"float32": ("float32",), "bfloat16": ("bfloat16",)}
# Of losses in nats and of vectors: TF32 has 11 bits, bfloat16 has 8.
TOLERANCES = {
    ("training", "float32"): 1e-2,
    ("training", "mixed_bfloat16"): 0.1,
    ("embedding", "float32"): 5e-3,
    ("embedding", "bfloat16"): 0.1,
}
OF_BASE = "plain", "plain bfloat16", "float32", "bfloat16"
OF_ALL = "plain", "jit", "jit bfloat16"  # with each number of rows


def main(
    *,
    text: Path,
    base: Path | None = None,
    presets: Sequence[runner.Preset] = ("small", "original"),
    rows: Sequence[runner.Count] = (128, 1024),
    sentences: runner.Count = 10_000,
    seconds: runner.Positive = 780,
) -> None:
    end = time.monotonic() + seconds
    roots = {THIS: runner.ROOT} | ({BASE: base.resolve()} if base else {})
    given = runner.read(text, sentences)
    for preset in presets:
        with runner.inputs(preset, given) as folder:
            compared = {}  # the CPU's rows, of the first preset and number of rows
            for (job, way, n_rows, words), (name, root) in itertools.product(
                jobs(rows), roots.items()
            ):
                first = n_rows in (0, rows[0])
                is_asked = name != BASE or way in OF_BASE
                is_asked = is_asked and (first or way in OF_ALL)
                if not is_asked or time.monotonic() > end:
                    continue
                arguments = job, preset, str(n_rows)
                if first and preset == presets[0] and job not in compared:
                    compared[job] = measured(
                        folder, [*arguments, "float32"], runner.ROOT, gpus=False
                    )
                    print_row("the CPU", preset, job, "float32", n_rows, compared[job])
                row = measured(folder, [*arguments, *words], root)
                if first and job in compared:
                    difference = np.subtract(row["values"], compared[job]["values"])
                    row["difference"] = float(np.abs(difference).max())
                    row["tolerance"] = TOLERANCES[job, words[0]]
                print_row(name, preset, job, way, n_rows, row)


def jobs(rows):
    """Job, way, rows and the worker's further words, the most important ones first."""
    for n_rows in rows:
        for way, words in TRAINING.items():
            yield "training", way, n_rows, words
    for way, words in EMBEDDING.items():
        yield "embedding", way, 0, words


def measured(folder, words, root, *, gpus=True):
    """What the worker answers, in a process of its own, or the end of its error."""
    try:
        with runner.worker("one_device", folder, *words, root=root, gpus=gpus) as one:
            return one.ask("run")
    except RuntimeError as error:
        return {"error": str(error)[-500:], "values": np.nan}


def print_row(system, preset, job, way, n_rows, row) -> None:
    head = {"system": system, "preset": preset, "job": job, "way": way, "rows": n_rows}
    shown = {k: v for k, v in row.items() if k != "values"}
    print(json.dumps(head | shown), flush=True)


if __name__ == "__main__":
    runner.run(main)
