"""How the cost of embedding grows: longer sentences, larger batches, more words.

    python -m tests.benchmarks.growth --text FILE

FILE holds one sentence a line, tokens separated by spaces. Only elmo-keras runs, with
random weights. The rows of a table take turns, and each is a single batch:

- sentence length: the same number of tokens in each row, cut from the text into one
  sentence of the longest length and others of all lengths up to it (uniform in their
  logarithm), in random order;
- batch size: sentences of the text as they come;
- distinct words: the same number of tokens in each row, in sentences of 20 made-up
  words of 6 characters;
- characters a word: 128 sentences of 20 distinct words.

The time covers everything from lists of `str` to NumPy arrays of all layers. The last
table shows the peak memory of a process that only embeds a file of the text's
sentences, without and with a long one, and the memory of a result that is padded to the
longest sentence, as for a batch.
"""

import argparse
import itertools
import json
import math
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import run_command
from elmo_keras.config import PRESETS, ElmoConfig
from tests.benchmarks.arithmetic import n_tokens
from tests.benchmarks.embedding_systems import OURS, SENTENCES, workers, write_inputs
from tests.benchmarks.turns import sample
from tests.benchmarks.workers import (
    heading,
    machine,
    read,
    row,
    spread,
    use_processors,
)

Batch = list[list[str]]
SHORTEST, PER_SENTENCE, CHARACTERS_OF_WORDS, ROWS = 5, 20, 6, 128
MIN_CHARACTERS = len(f"{ROWS * PER_SENTENCE}")  # for this many distinct words
COLUMNS = (
    "sentences",
    "tokens",
    "µs a token: median (lowest – highest)",
    "to the first",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command("growth.py", lambda: report(options))


def report(options: argparse.Namespace) -> None:
    """Measures and prints the tables."""
    largest = max(*options.batch_sizes, options.memory_batch)
    sentences = sample(read(options.text), largest)
    use_processors(options.threads)
    if min(options.characters) < MIN_CHARACTERS:
        raise ValueError(f"--characters should be {MIN_CHARACTERS} or more.")
    for preset in options.presets:
        print(f"{preset}, {options.dtype}\n")
        for title, batches in tables(sentences, options).items():
            print(heading((title, *COLUMNS)))
            print("\n".join(map(row, measured(preset, batches, options))), "\n")
        print(memory(preset, sentences, options), "\n", flush=True)
    print(machine(options.threads))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    cores = len(os.sched_getaffinity(0))
    words = [100, 1_000, 10_000, 100_000]
    p.add_argument("--text", required=True, metavar="FILE", type=Path)
    p.add_argument("--presets", nargs="+", default=["small"], choices=sorted(PRESETS))
    dtypes = [name.split()[-1] for name in OURS]
    p.add_argument("--dtype", default="float32", choices=dtypes)
    p.add_argument(
        "--lengths", nargs="+", type=positive(int), default=[10, 100, 1_000, 10_000]
    )
    p.add_argument(
        "--tokens", type=positive(int), default=20_000, help="of mixed lengths"
    )
    p.add_argument(
        "--batch-sizes", nargs="+", type=positive(int), default=[1, 8, 64, 512]
    )
    p.add_argument("--words", nargs="+", type=positive(int), default=words)
    p.add_argument(
        "--characters", nargs="+", type=positive(int), default=[6, 12, 24, 48]
    )
    p.add_argument("--memory-batch", type=positive(int), default=512, help="sentences")
    p.add_argument(
        "--memory-length", type=positive(int), default=10_000, help="of one of them"
    )
    p.add_argument("--rounds", type=positive(int), default=3)
    p.add_argument(
        "--threads", type=positive(int), default=cores, help="processors to use"
    )
    return p


def tables(sentences: Batch, options: argparse.Namespace) -> dict[str, dict]:
    """Titles → batches by the number in their rows."""
    return {
        "longest sentence": {
            n: mixed(sentences, n, max(n, options.tokens)) for n in options.lengths
        },
        "batch": {n: sentences[:n] for n in options.batch_sizes},
        "distinct words": {
            n: cut(made_up(n, CHARACTERS_OF_WORDS), max(options.words))
            for n in options.words
        },
        "characters a word": {
            n: cut(made_up(ROWS * PER_SENTENCE, n), ROWS * PER_SENTENCE)
            for n in options.characters
        },
    }


def mixed(sentences: Batch, longest: int, n_words: int) -> Batch:
    """Sentences of all lengths up to the longest, with `n_words` tokens in all."""
    draw = random.Random(0)
    lengths = [longest]
    while (left := n_words - sum(lengths)) > 0:
        shortest = min(SHORTEST, longest)
        power = draw.uniform(math.log(shortest), math.log(longest))
        lengths.append(min(left, round(math.exp(power))))
    draw.shuffle(lengths)
    words = itertools.cycle(word for sentence in sentences for word in sentence)
    return [list(itertools.islice(words, length)) for length in lengths]


def made_up(number: int, n_characters: int) -> Iterator[str]:
    """Made-up words, `number` of them, in an endless cycle."""
    return itertools.cycle(f"{i:0{n_characters}d}" for i in range(number))


def cut(words: Iterator[str], n_words: int) -> Batch:
    """The first words, as sentences of `PER_SENTENCE`."""
    taken = list(itertools.islice(words, n_words))
    return [taken[i : i + PER_SENTENCE] for i in range(0, n_words, PER_SENTENCE)]


def measured(
    preset: str, batches: dict[int, Batch], options: argparse.Namespace
) -> Iterator[list[str]]:
    """The cells of a table's rows."""
    requests, all_sentences = requested(batches.values())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder, preset, all_sentences)
        with workers([f"elmo-keras {options.dtype}"], folder) as [worker]:
            for request in requests:
                worker.ask(request)  # allocates memory and makes oneDNN's kernels
            rounds = [
                [worker.ask(request)["seconds"] for request in requests]
                for _ in range(options.rounds)
            ]
    first = None
    for (n, batch), seconds in zip(batches.items(), zip(*rounds)):
        tokens = n_tokens(batch)
        times = [1e6 * s / tokens for s in seconds]
        first = first or statistics.median(times)
        ratio = statistics.median(times) / first
        yield [
            f"{n:,}",
            f"{len(batch):,}",
            f"{tokens:,}",
            spread(times),
            f"{ratio:.2f}",
        ]


def requested(batches) -> tuple[list[str], Batch]:
    """A worker's request for each batch, and the sentences that they index."""
    requests, sentences = [], []
    for batch in batches:
        places = list(range(len(sentences), len(sentences) + len(batch)))
        requests.append(json.dumps({"batches": [places]}))
        sentences += batch
    return requests, sentences


def memory(preset: str, sentences: Batch, options: argparse.Namespace) -> str:
    """A table of the peak memory, without and with a long sentence."""
    long = mixed(sentences, options.memory_length, options.memory_length)
    short = sentences[: options.memory_batch]
    cases = {
        "the first sentence alone": short[:1],
        f"{len(short):,} sentences": short,
        f"the same, one of them of {options.memory_length:,} tokens": short[:-1] + long,
    }
    columns = "a process that embeds", "tokens", "peak memory", "padded result"
    lines = [heading(columns)]
    for label, batch in cases.items():
        cells = [label, f"{n_tokens(batch):,}"]
        cells.append(f"{peak_memory(preset, batch, options.dtype):.2f} GB")
        cells.append(f"{padded_result(preset, batch):.2f} GB")
        lines.append(row(cells))
    return "\n".join(lines)


def peak_memory(preset: str, sentences: Batch, dtype: str) -> float:
    """The peak memory of a process that embeds a file of these sentences, in GB."""
    with tempfile.TemporaryDirectory() as name:
        write_inputs(Path(name), preset, sentences)
        with workers([f"elmo-keras {dtype}"], Path(name)) as [worker]:
            worker.ask(json.dumps({"file": str(Path(name) / SENTENCES)}))
            return worker.peak_memory()


def padded_result(preset: str, batch: Batch) -> float:
    """The memory of all layers of all positions in float32, in GB."""
    config = ElmoConfig.preset(preset)
    positions = len(batch) * max(map(len, batch))
    return positions * (config.n_layers + 1) * 2 * config.projection_dim * 4 / 1e9


if __name__ == "__main__":
    sys.exit(main())
