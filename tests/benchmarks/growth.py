"""How the cost grows with the length of sentences and documents.

    python -m tests.benchmarks.growth --text FILE

FILE holds one sentence a line, tokens separated by spaces. Only elmo-keras runs, with
random weights:

- length: rows take turns, each a batch with the same number of tokens, cut from the text
  into one sentence of the longest length and others of all lengths up to it (uniform in
  their logarithm);
- memory: of a process that only embeds a file, and of a padded result;
- documents: coreference and a question, each document in a process of its own.
"""

import itertools
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from elmo_keras.config import ElmoConfig
from tests.benchmarks import runner
from tests.benchmarks.embedding import n_tokens

Batch = list[list[str]]
Way = Literal["float32", "bfloat16", "eager", "embedder"]
LONGEST, SHORTEST, OF_MEMORY = 10_000, 5, 512
LENGTHS = 10, 100, 1_000, LONGEST
TIME = "µs a token: median (lowest – highest)"
Table = Literal["length", "memory", "documents"]


def main(
    *,
    text: Path,
    presets: Sequence[runner.Preset] = ("small",),
    rounds: runner.Count = 3,
    tables: Sequence[Table] = ("length", "memory", "documents"),
    way: Way = "float32",
    documents: Sequence[runner.Count] = (200, 1_000, 2_000, 5_000, 10_000),
) -> None:
    sentences, whole = runner.read(text, OF_MEMORY), runner.read(text)
    documents = [beginning(whole, length) for length in documents]
    for preset, table in itertools.product(presets, tables):
        print(f"\n{preset}, {way}\n")
        if table == "memory":
            print_memory(preset, way, sentences)
        elif table == "documents":
            print_documents(preset, documents)
        else:
            runner.head(table, "sentences", "tokens", TIME, "to the first")
            batches = {n: mixed(sentences, n, 2 * LONGEST) for n in LENGTHS}
            print_batches(preset, way, batches, rounds)


def beginning(sentences: Batch, length: int) -> Batch:
    """The first sentences with `length` tokens in all, the last one cut."""
    document, missing = [], length
    for sentence in sentences:
        if not missing:
            break
        document.append(sentence[:missing])
        missing -= len(document[-1])
    if missing:
        n = length - missing
        raise ValueError(f"--documents: {length:,} tokens, and the text has {n:,}.")
    return document


def mixed(sentences: Batch, longest: int, n_words: int) -> Batch:
    """Sentences of all lengths up to the longest, with `n_words` tokens in all."""
    draw, lengths = random.Random(0), [longest]
    while (left := n_words - sum(lengths)) > 0:
        shortest = min(SHORTEST, longest)
        power = draw.uniform(math.log(shortest), math.log(longest))
        lengths.append(min(left, round(math.exp(power))))
    draw.shuffle(lengths)
    words = itertools.cycle(word for sentence in sentences for word in sentence)
    return [list(itertools.islice(words, length)) for length in lengths]


def print_batches(preset: str, way: str, batches: dict[int, Batch], rounds: int):
    with (
        runner.inputs(preset) as folder,
        runner.worker("ours", folder, way) as worker,
    ):
        found = runner.in_turns(
            batches,
            lambda batch, _: worker.ask("run", batches=[batch]),
            rounds=rounds,
            warm_up=1,  # allocates memory and makes oneDNN's kernels
        )
    times = {
        n: [1e6 / speed for speed in own] for n, own in runner.speeds(found).items()
    }
    for n, cells in runner.compared(times).items():
        runner.row(n, len(batches[n]), n_tokens(batches[n]), *cells)


def print_memory(preset: str, way: str, sentences: Batch) -> None:
    """Prints the table of peak memory, without and with a long sentence."""
    config, long = ElmoConfig.preset(preset), mixed(sentences, LONGEST, LONGEST)
    runner.head("a process that embeds", "tokens", "peak memory", "padded result")
    for label, batch in {
        "the first sentence alone": sentences[:1],
        f"{len(sentences):,} sentences": sentences,
        f"the same, one of them of {LONGEST:,} tokens": sentences[:-1] + long,
    }.items():
        with (
            runner.inputs(preset, batch) as folder,
            runner.worker("ours", folder, way) as worker,
        ):
            worker.ask("file")
            peak = worker.peak_memory()
        positions = len(batch) * max(map(len, batch))
        padded = positions * (config.n_layers + 1) * 2 * config.projection_dim * 4 / 1e9
        runner.row(label, n_tokens(batch), f"{peak:.2f} GB", f"{padded:.2f} GB")


def print_documents(preset: str, documents: Sequence[Batch]) -> None:
    calls = "first call", "second call"
    runner.head("task", "sentences", "tokens", *calls, "peak memory")
    with runner.inputs(preset) as folder:
        for task, document in itertools.product(("coreference", "answer"), documents):
            with runner.worker("ours", folder, task) as worker:
                answers = [worker.ask("run", batches=[document]) for _ in calls]
                memory = f"{worker.peak_memory():.2f} GB"
            seconds = [f"{answer['seconds']:.2f} s" for answer in answers]
            runner.row(task, len(document), n_tokens(document), *seconds, memory)


if __name__ == "__main__":
    runner.run(main)
