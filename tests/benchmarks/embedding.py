"""Compares the speed and vectors of embedding with AllenNLP and simple-elmo.

    python -m tests.benchmarks.embedding --text FILE

FILE holds one sentence a line, tokens separated by spaces. A random sample of its
sentences is embedded: in batches as they come, the same for all systems, and as a
whole file. All systems read the same random weights in the published layout, use
the same processors, and return all layers of every token:

- AllenNLP: `allennlp.modules.elmo.Elmo` 2.10.1 on PyTorch 2.13, its own
  `batch_to_ids`;
- simple-elmo graph: simple-elmo 0.9.2 on TensorFlow 2.21 (`tf.compat.v1`), its
  batched graph alone, fed by its own `Batcher`;
- simple-elmo API: its `ElmoModel.get_elmo_vectors`;
- elmo-keras: `Elmo.layers` in a `tf.function`, dtype policies float32 and bfloat16;
  for a whole file `embed_corpus`, with its output file;
- elmo-keras eager: `Elmo.layers` in float32, called with lists outside of any graph;
- elmo-keras Embedder: an `Embedder` in float32, also for a whole file.

The peers run in environments of their own, which are made at the first start. Each
system is a process; they take turns, and the others wait. The time covers everything
from lists of `str` to NumPy arrays. Only real tokens count: no padding, no `<S>`.
For each batch size there are rounds for --seconds, at least three; a turn has at
least eight sentences. Then the whole sample: the peers get it sorted by length, in
batches of each of --file-batch-sizes, and the fastest size runs the further rounds;
elmo-keras gets the file as it is. No peer sorts by itself: "to its fastest batches"
compares with the fastest peer's batches as they come, of the size that is best for it.

"Of peak" is the arithmetic that was needed (see `arithmetic.py`: each distinct word
once in a batch, or once in the file) divided by time, as a share of the speed of a
product of two large matrices in TensorFlow in the system's dtype. That speed is
measured before each batch size, and the best one so far counts. Peak memory is that
of the process so far. "First vector" is the time from the start of the process to the
vectors of one sentence. The peers carry their LSTM states from batch to batch; the
states are reset before vectors are compared.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import run_command
from elmo_keras.config import PRESETS, ElmoConfig
from tests.benchmarks.arithmetic import n_tokens
from tests.benchmarks.embedding_systems import (
    OURS,
    PEERS,
    SENTENCES,
    SYSTEMS,
    interpreter,
    workers,
    write_inputs,
)
from tests.benchmarks.turns import Measured, Text, Turns, sample
from tests.benchmarks.vectors import COLUMNS as VECTOR_COLUMNS
from tests.benchmarks.vectors import compared
from tests.benchmarks.workers import (
    ENVIRONMENTS,
    Worker,
    heading,
    machine,
    read,
    row,
    spread,
    use_processors,
)

COLUMNS = (
    "preset",
    "batch",
    "system",
    "tokens/s: median (lowest – highest)",
    "to the fastest peer",
    "to its fastest batches",
    "of peak",
    "peak memory",
    "rounds",
)
FILE = "whole file"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command("embedding.py", lambda: report(options))


def report(options: argparse.Namespace) -> None:
    """Measures and prints the tables."""
    sentences = sample(read(options.text), options.sentences)
    use_processors(options.threads)
    for system in options.systems:
        interpreter(system, options.environments)
    print(f"{len(sentences):,} sentences of {n_tokens(sentences):,} tokens\n")
    about = [compare(preset, sentences, options) for preset in options.presets]
    print(heading(VECTOR_COLUMNS))
    print("\n".join(row(cells) for of_preset in about for cells in of_preset))
    print(f"\n{machine(options.threads)}")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    cores = len(os.sched_getaffinity(0))
    presets = sorted(set(PRESETS) - {"test"})  # AllenNLP's words have 50 characters
    p.add_argument("--text", required=True, metavar="FILE", type=Path)
    p.add_argument("--environments", default=ENVIRONMENTS, metavar="DIR", type=Path)
    p.add_argument(
        "--presets", nargs="+", default=["small", "original"], choices=presets
    )
    p.add_argument("--systems", nargs="+", default=SYSTEMS, choices=SYSTEMS)
    sizes = "at most 128, the largest that simple-elmo is built for"
    p.add_argument(
        "--batch-sizes",
        nargs="*",
        type=positive(int),
        default=[1, 8, 32, 128],
        help=sizes,
    )
    p.add_argument(
        "--file-batch-sizes", nargs="+", type=positive(int), default=[8, 32, 128]
    )
    p.add_argument("--sentences", type=positive(int), default=512, help="of the sample")
    p.add_argument(
        "--seconds", type=positive(int), default=45, help="for each batch size"
    )
    p.add_argument(
        "--threads", type=positive(int), default=cores, help="processors to use"
    )
    p.add_argument(
        "--gemm-size", type=positive(int), default=4096, help="rows and columns"
    )
    return p


def compare(preset, sentences, options) -> list[list[str]]:
    """Measures one preset and prints its speeds; returns rows about the vectors."""
    peak = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder, preset, sentences)
        with workers(options.systems, folder, options.environments) as systems:
            about = compared(preset, systems, sentences, folder=folder)
            turns = Turns(systems, ElmoConfig.preset(preset), options.seconds)
            text = Text(folder / SENTENCES, sentences)
            print(heading(COLUMNS), flush=True)
            unsorted = 0.0
            for size in [*options.batch_sizes, FILE]:
                update(peak, systems, options.gemm_size)
                if size == FILE:
                    measured = turns.of_file(text, options.file_batch_sizes)
                    lines = table(measured, peak, unsorted)
                else:
                    measured = turns.of_batches(text, size)
                    unsorted = max(unsorted, fastest_peer(measured))
                    lines = table(measured, peak)
                for cells in lines:
                    print(row([preset, f"{size}", *cells]), flush=True)
    print(
        "\nPeak:",
        ", ".join(f"{dtype} {p / 1e9:,.0f} GFLOP/s" for dtype, p in peak.items()),
        "\n",
    )
    return about


def update(peak: dict[str, float], systems: list[Worker], size: int) -> None:
    """Measures a large matrix product in each dtype; the best so far is kept."""
    for worker in systems:
        dtype = worker.name.split()[-1]
        if worker.name in OURS and "float" in dtype:
            speed = worker.ask(json.dumps({"gemm": size}))
            peak[dtype] = max(speed, peak.get(dtype, 0))


def fastest_peer(measured: list[Measured]) -> float:
    """Tokens a second of the fastest peer, 0 if there is none."""
    return max((m.rate for m in measured if m.worker.name in PEERS), default=0.0)


def table(
    measured: list[Measured], peak: dict[str, float], unsorted: float = 0.0
) -> list[list[str]]:
    """The cells of each system's row.

    Args:
        measured: what the systems did.
        peak: operations a second by dtype.
        unsorted: tokens a second of the fastest peer with batches as they come, of
            any size; 0 where nothing is compared with it.
    """
    peer = fastest_peer(measured)
    return [
        [
            m.label,
            spread(m.rates),
            ratio(m, peer),
            ratio(m, unsorted),
            share(m, peak),
            f"{m.memory:.2f} GB",
            f"{len(m.rates)}",
        ]
        for m in measured
    ]


def ratio(measured: Measured, rate: float) -> str:
    """A system's speed as a multiple of a rate."""
    return f"{measured.rate / rate:.2f}" if rate else "–"


def share(measured: Measured, peak: dict[str, float]) -> str:
    """The share of its dtype's peak that a system reached."""
    dtype = "bfloat16" if "bfloat16" in measured.label else "float32"
    if dtype not in peak:
        return "–"
    return f"{statistics.median(measured.speeds) / peak[dtype]:.0%}"


if __name__ == "__main__":
    sys.exit(main())
