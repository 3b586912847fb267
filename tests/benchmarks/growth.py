"""How the cost grows: longer sentences, larger batches, more words, long documents.

    python -m tests.benchmarks.growth --text FILE

FILE holds one sentence a line, tokens separated by spaces. Only elmo-keras runs, with
random weights. The rows of a table take turns, and each is a single batch:

- longest sentence: the same number of tokens in each row, cut from the text into one
  sentence of the longest length and others of all lengths up to it (uniform in their
  logarithm), in random order;
- batch: sentences of the text as they come;
- distinct words: the same number of tokens in each row, in sentences of 20 made-up
  words of 6 characters;
- characters a word: 128 sentences of 20 distinct words.

The time covers everything from lists of `str` to NumPy arrays of all layers. Then the
peak memory of a process that only embeds a file of 512 sentences, without and with a
long one, and the memory of a result that is padded to the longest sentence; and
coreference and a question, each document in a process of its own, with models of the
size that the tasks' commands train. Their memory includes the libraries and the models.
"""

import itertools
import math
import random
import statistics
import sys
from collections.abc import Iterator, Sequence

from elmo_keras.cli.argument_types import positive
from elmo_keras.config import ElmoConfig
from tests.benchmarks import runner
from tests.benchmarks.arithmetic import n_tokens
from tests.benchmarks.runner import head, in_turns, row, spread

Batch = list[list[str]]
WAYS = "float32", "bfloat16", "eager", "embedder"
TABLES = "length", "batch", "words", "characters", "memory", "documents"
PER_SENTENCE, ROWS, CHARACTERS_OF_WORDS, LONGEST = 20, 128, 6, 10_000
SHORTEST, BATCHES, OF_MEMORY = 5, (1, 8, 64, 512), 512


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    p = runner.parser(__doc__, text=None, presets=["small"], rounds=3)
    add, lengths = p.add_argument, [200, 1_000, 2_000, 5_000, 10_000]
    add("--tables", nargs="+", default=TABLES, choices=TABLES)
    add("--way", default="float32", choices=WAYS, help="to embed")
    add("--documents", nargs="+", type=positive(int), default=lengths, help="tokens")
    return runner.run(p, report, arguments)


def report(text, presets, rounds, tables, way, documents) -> None:
    """Measures and prints the tables."""
    sentences, whole = runner.read(text, OF_MEMORY), runner.read(text)
    documents = [beginning(whole, length) for length in documents]
    words, characters = (100, 1_000, 10_000, 100_000), (6, 12, 24, 48)
    in_order = {
        "length": {
            n: mixed(sentences, n, 2 * LONGEST) for n in (10, 100, 1_000, LONGEST)
        },
        "batch": {n: sentences[:n] for n in BATCHES},
        "words": {n: made_up(n, CHARACTERS_OF_WORDS, max(words)) for n in words},
        "characters": {
            n: made_up(ROWS * PER_SENTENCE, n, ROWS * PER_SENTENCE) for n in characters
        },
    }
    for preset, table in itertools.product(presets, tables):
        print(f"\n{preset}, {way}\n")
        if table == "memory":
            print_memory(preset, way, sentences)
        elif table == "documents":
            print_documents(preset, documents)
        else:
            time = "µs a token: median (lowest – highest)", "to the first"
            head(table, "sentences", "tokens", *time)
            for cells in measured(preset, way, in_order[table], rounds):
                row(*cells)


def beginning(sentences: Batch, length: int) -> Batch:
    """The first sentences with `length` tokens in all, the last one cut.

    Raises:
        ValueError: the sentences have fewer tokens.
    """
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
    draw = random.Random(0)
    lengths = [longest]
    while (left := n_words - sum(lengths)) > 0:
        shortest = min(SHORTEST, longest)
        power = draw.uniform(math.log(shortest), math.log(longest))
        lengths.append(min(left, round(math.exp(power))))
    draw.shuffle(lengths)
    words = itertools.cycle(word for sentence in sentences for word in sentence)
    return [list(itertools.islice(words, length)) for length in lengths]


def made_up(number: int, n_characters: int, n_words: int) -> Batch:
    """Sentences of made-up words, `number` of them again and again."""
    words = [f"{i % number:0{n_characters}d}" for i in range(n_words)]
    return [words[i : i + PER_SENTENCE] for i in range(0, n_words, PER_SENTENCE)]


def measured(
    preset: str, way: str, batches: dict[int, Batch], rounds: int
) -> Iterator[tuple]:
    """The cells of a table's rows."""
    everything, places = [], {}
    for n, batch in batches.items():
        places[n] = list(range(len(everything), len(everything) + len(batch)))
        everything += batch
    with (
        runner.inputs(preset, everything) as folder,
        runner.worker("ours", folder, way) as worker,
    ):
        asks = {
            n: lambda _, p=place: worker.ask("embed", batches=[p])["seconds"]
            for n, place in places.items()
        }
        in_turns(asks, rounds=1)  # allocates memory and makes oneDNN's kernels
        found = in_turns(asks, rounds=rounds)
    first = None
    for n, batch in batches.items():
        times = [1e6 * seconds / n_tokens(batch) for seconds in found[n]]
        median = statistics.median(times)
        first = first or median
        yield n, len(batch), n_tokens(batch), spread(times), f"{median / first:.2f}"


def print_memory(preset: str, way: str, sentences: Batch) -> None:
    """Prints the table of peak memory, without and with a long sentence."""
    config, long = ElmoConfig.preset(preset), mixed(sentences, LONGEST, LONGEST)
    cases = {
        "the first sentence alone": sentences[:1],
        f"{len(sentences):,} sentences": sentences,
        f"the same, one of them of {LONGEST:,} tokens": sentences[:-1] + long,
    }
    head("a process that embeds", "tokens", "peak memory", "padded result")
    for label, batch in cases.items():
        with (
            runner.inputs(preset, batch) as folder,
            runner.worker("ours", folder, way) as worker,
        ):
            worker.ask("file", path=str(folder / "sentences.txt"))
            peak = worker.peak_memory()
        positions = len(batch) * max(map(len, batch))
        numbers = positions * (config.n_layers + 1) * 2 * config.projection_dim
        row(label, n_tokens(batch), f"{peak:.2f} GB", f"{numbers * 4 / 1e9:.2f} GB")


def print_documents(preset: str, documents: Sequence[Batch]) -> None:
    """Prints the table of coreference and questions."""
    calls = "first call", "second call"
    head("task", "sentences", "tokens", *calls, "peak memory")
    with runner.inputs(preset) as folder:
        for task, document in itertools.product(("coreference", "answer"), documents):
            with runner.worker("ours", folder, task) as worker:
                answers = [worker.ask("document", sentences=document) for _ in calls]
                memory = f"{worker.peak_memory():.2f} GB"
            seconds = [f"{answer['seconds']:.2f} s" for answer in answers]
            row(task, len(document), n_tokens(document), *seconds, memory)


if __name__ == "__main__":
    sys.exit(main())
