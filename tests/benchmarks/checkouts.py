"""Embedding and training steps of two checkouts of this repository, side by side.

    git worktree add OTHER COMMIT
    python -m tests.benchmarks.checkouts OTHER --text FILE

FILE holds one sentence a line, tokens separated by spaces. Each checkout runs the
worker scripts of its own `tests/benchmarks`, in this Python, over the same model,
sentences and options. The two take turns; the ratio is this checkout's median speed
to the other's. The largest difference is between the vectors of all layers of a batch
of 32, or between the sampled losses after the same training steps.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import run_command
from elmo_keras.config import PRESETS, ElmoConfig
from elmo_keras.text.vocabulary import Vocabulary
from tests.benchmarks import embedding_systems, training
from tests.benchmarks.arithmetic import n_tokens
from tests.benchmarks.turns import Measured, Text, Turns, sample
from tests.benchmarks.workers import (
    HERE,
    ROOT,
    Worker,
    heading,
    machine,
    read,
    row,
    spread,
    started,
    use_processors,
)

COMPARED = 32  # sentences whose vectors are compared
FILE_ROUNDS = 3
COLUMNS = (
    "preset",
    "work",
    "this checkout: tokens/s, median (lowest – highest)",
    "the other",
    "ratio",
    "largest difference",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command("checkouts.py", lambda: report(options))


def report(options: argparse.Namespace) -> None:
    """Measures and prints the tables."""
    sentences = read(options.text)
    vocabulary = Vocabulary.count(sentences, options.vocabulary_size)
    training.check(vocabulary, options)
    of_training = training.enough(sentences, options)
    embedded = sample(sentences, options.sentences)
    scripts(options.other)
    use_processors(options.threads)
    print(heading(COLUMNS), flush=True)
    for preset in options.presets:
        compare_embedding(preset, embedded, options)
        compare_training(preset, of_training, vocabulary, options=options)
    print(f"\n{machine(options.threads)}")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    cores = len(os.sched_getaffinity(0))
    add = p.add_argument
    add("other", metavar="OTHER", type=Path, help="the other checkout")
    add("--text", required=True, metavar="FILE", type=Path)
    add("--presets", nargs="+", default=["small"], choices=sorted(PRESETS))
    add("--sentences", type=positive(int), default=1024, help="to embed")
    add("--batch-sizes", nargs="*", type=positive(int), default=[1, 32])
    add("--seconds", type=positive(int), default=15, help="for each batch size")
    add("--vocabulary-size", type=positive(int), default=50_000, help="maximum")
    add("--batch-size", type=positive(int), default=128, help="rows of a training step")
    add("--negatives", type=positive(int), default=8192)
    add("--warmup", type=positive(int), default=2, help="steps that are not counted")
    add("--rounds", type=positive(int), default=6)
    add("--steps", type=positive(int), default=1, help="of each checkout in a round")
    add("--threads", type=positive(int), default=cores, help="processors to use")
    return p


def scripts(checkout: Path) -> dict[str, Path]:
    """The worker scripts of a checkout.

    Raises:
        FileNotFoundError: the checkout has no such script.
    """
    folder = checkout / HERE.relative_to(ROOT)
    found = {
        work: folder / f"{work}_elmo_keras.py" for work in ("embedding", "training")
    }
    for script in found.values():
        if not script.exists():
            raise FileNotFoundError(f"OTHER should be a checkout with {script}.")
    return found


@contextlib.contextmanager
def pair(work: str, other: Path, folder: Path, *arguments: str) -> Iterator[list]:
    """A worker of this checkout, and one of the other."""
    with contextlib.ExitStack() as stack:
        workers = []
        for name, checkout in (("this", ROOT), ("other", other.resolve())):
            command = [sys.executable, scripts(checkout)[work], folder, *arguments]
            path = {"PYTHONPATH": str(checkout)}
            worker = started(f"{work} {name}", command, folder, environment=path)
            workers.append(stack.enter_context(worker))
        yield workers


def compare_embedding(
    preset: str, sentences: list[list[str]], options: argparse.Namespace
) -> None:
    """Embeds batches and the whole text with both checkouts; prints the rows."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        embedding_systems.write_inputs(folder, preset, sentences)
        text = Text(folder / embedding_systems.SENTENCES, sentences)
        with pair("embedding", options.other, folder, "float32") as workers:
            difference = difference_of_vectors(workers, folder)
            turns = Turns(workers, ElmoConfig.preset(preset), options.seconds)
            for size in options.batch_sizes:
                rates = [system.rates for system in turns.of_batches(text, size)]
                of_size = difference if size == COMPARED else None
                work = f"embedding, batch {size}"
                print_row(preset, work, rates, difference=of_size)
            print_row(preset, "embedding, file", rates_of_file(workers, text))


def difference_of_vectors(workers: Sequence[Worker], folder: Path) -> float:
    """The largest difference between the vectors of the two checkouts."""
    vectors = []
    for i, worker in enumerate(workers):
        path = str(folder / f"vectors-{i}.npy")
        worker.ask(json.dumps({"batches": [list(range(COMPARED))], "save": path}))
        vectors.append(np.load(path))
    return float(np.abs(vectors[0] - vectors[1]).max())


def rates_of_file(workers: Sequence[Worker], text: Text) -> list[list[float]]:
    """Tokens a second of each worker over the whole text, in turns."""
    systems = [Measured(worker, worker.name) for worker in workers]
    tokens = n_tokens(text.sentences)
    for _ in range(FILE_ROUNDS):
        for system in systems:
            system.turn(json.dumps({"file": str(text.path)}), tokens, 0.0)
    return [system.rates for system in systems]


def compare_training(
    preset: str,
    sentences: list[list[str]],
    vocabulary: Vocabulary,
    *,
    options: argparse.Namespace,
) -> None:
    """Makes training steps with both checkouts; prints the row."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        training.write_inputs(
            folder, preset, sentences, vocabulary=vocabulary, options=options
        )
        with pair("training", options.other, folder) as workers:
            answers = training.measured(workers, options)
    losses = [of_worker[-1]["loss"] for of_worker in answers]
    print_row(
        preset,
        "training step",
        [training.speeds(of_worker) for of_worker in answers],
        difference=abs(losses[0] - losses[1]),
    )


def print_row(
    preset: str,
    work: str,
    rates: Sequence[Sequence[float]],
    *,
    difference: float | None = None,
) -> None:
    """Prints a row of the table; without a difference, none was measured."""
    this, other = map(statistics.median, rates)
    cells = [preset, work, *map(spread, rates), f"{this / other:.2f}"]
    cells.append("–" if difference is None else f"{difference:.1e}")
    print(row(cells), flush=True)


if __name__ == "__main__":
    sys.exit(main())
