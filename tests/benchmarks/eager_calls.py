"""Processor time of `Elmo.layers` outside of graphs and of `Embedder`, by batch size.

    python -m tests.benchmarks.eager_calls MODEL --text FILE

Each row is measured after so many batches that all that the library compiles in the
background is there. Processor time is that of the whole process for one token, the
fastest batch first: on a busy machine it varies less than the time that passes. Run in
a copy of another checkout, with this file in it, it measures that checkout.
"""

import argparse
import itertools
import statistics
import sys
import threading
import time
from collections.abc import Sequence

from elmo_keras import Elmo, Embedder
from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import run_command
from elmo_keras.text.files import read_sentences
from tests.benchmarks.arithmetic import n_tokens
from tests.benchmarks.workers import heading, machine, row

COLUMNS = "sentences", "way", "µs of processor time a token: fastest (median)"
N_SENTENCES = 400


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command("eager_calls.py", lambda: report(options))


def report(options: argparse.Namespace) -> None:
    """Prints the table."""
    sentences = list(itertools.islice(read_sentences([options.text]), N_SENTENCES))
    elmo = Elmo.from_pretrained(options.model)
    embedder = Embedder(elmo, layers="all")
    ways = {"eager": lambda batch: elmo.layers(batch).numpy(), "Embedder": embedder}
    print(heading(COLUMNS), flush=True)
    for size in options.batch_sizes:
        for way, embed in ways.items():
            times = measured(embed, sentences, size, steps=options.steps)
            cell = f"{min(times):,.0f} ({statistics.median(times):,.0f})"
            print(row([f"{size}", way, cell]), flush=True)
    print(f"\n{machine(2)}")


def measured(embed, sentences, size: int, *, steps: int) -> list[float]:
    """Microseconds a token of batches, after batches of this many steps in all."""
    batches = itertools.cycle(
        sentences[i : i + size] for i in range(0, len(sentences) - size + 1, size)
    )
    for batch in batches:
        embed(batch)
        steps -= max(map(len, batch))
        if steps <= 0:
            break
    for thread in threading.enumerate():
        if thread.name.endswith("(_compile)"):
            thread.join()
    times = []
    for batch in itertools.islice(batches, max(5, 40 // size)):
        start = time.process_time()
        embed(batch)
        times.append((time.process_time() - start) * 1e6 / n_tokens([*batch]))
    return times


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("model", metavar="MODEL")
    p.add_argument("--text", required=True, metavar="FILE")
    p.add_argument("--batch-sizes", nargs="+", type=positive(int), default=[1, 2, 4, 8])
    p.add_argument(
        "--steps", type=positive(int), default=2500, help="before each measurement"
    )
    return p


if __name__ == "__main__":
    sys.exit(main())
