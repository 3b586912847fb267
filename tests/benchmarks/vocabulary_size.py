"""Time and memory of a training step with a small and a large vocabulary.

    python -m tests.benchmarks.vocabulary_size --text FILE

FILE holds one sentence a line, tokens separated by spaces. The small vocabulary has
its most frequent words; the large one has made-up words after them, which the
sampler draws like real ones. Each is trained in a process of its own; they take
turns. Options, timing and columns are those of `training.py`; of --systems only the
first is measured.
"""

import contextlib
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from elmo_keras.cli.command import WRONG_INPUT, fail
from elmo_keras.text.vocabulary import Vocabulary
from tests.benchmarks import training
from tests.benchmarks.training import OURS
from tests.benchmarks.workers import heading, machine, read, row, spread, use_processors

COLUMNS = (
    "preset",
    "words",
    "a step: median (lowest – highest)",
    "ratio",
    "peak memory",
    "softmax weights and accumulators",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    parser = training.parser()
    parser.description = __doc__.split("\n")[0]
    parser.set_defaults(presets=["small"], rounds=6, systems=list(OURS)[:1])
    parser.add_argument("--words", nargs="+", type=int, default=[10_000, 800_000])
    options = parser.parse_args(arguments)
    try:
        sentences = read(options.text)
        smallest = Vocabulary.count(sentences, min(options.words))
        training.check(smallest, options)
        sentences = training.enough(sentences, options)
        use_processors(options.threads)
    except (ValueError, OSError) as error:
        return fail("vocabulary_size.py", WRONG_INPUT, error)
    print(heading(COLUMNS), flush=True)
    for preset in options.presets:
        versions = compare(preset, sentences, smallest, options=options)
    print(f"\n{machine(options.threads)}; {versions}")
    return 0


def compare(preset, sentences, smallest, *, options) -> str:
    """Measures one preset and prints its rows; returns the versions."""
    with contextlib.ExitStack() as stack:
        workers = []
        for size in options.words:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            vocabulary = filled(smallest, size)
            training.write_inputs(
                folder, preset, sentences, vocabulary=vocabulary, options=options
            )
            worker = training.start(options.systems[0], sys.executable, folder)
            workers.append(stack.enter_context(worker))
        answers = training.measured(workers, options)
        first = statistics.median(seconds(answers[0], options))
        for size, worker, rounds in zip(options.words, workers, answers):
            times = seconds(rounds, options)
            print(row(result(preset, size, worker, times=times, first=first)))
        return workers[0].hello


def filled(vocabulary: Vocabulary, size: int) -> Vocabulary:
    """The vocabulary, with made-up words after its own."""
    more = (f"made-up-{i}" for i in range(size - len(vocabulary)))
    return Vocabulary([*vocabulary.words, *more])


def seconds(answers, options) -> list[float]:
    """Seconds of a step in each round."""
    return [answer["seconds"] / options.steps for answer in answers]


def result(preset, size, worker, *, times, first) -> list[str]:
    """The cells of a row of the table."""
    dim = training.ElmoConfig.preset(preset).projection_dim
    median = statistics.median(times)
    return [
        preset,
        f"{size:,}",
        f"{spread(times, 2)} s",
        f"{median / first:.2f}",
        f"{worker.peak_memory():.2f} GB",
        f"{2 * 4 * size * (dim + 1) / 1e9:.2f} GB",
    ]


if __name__ == "__main__":
    sys.exit(main())
