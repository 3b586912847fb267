"""Tokens a second of a training step, compared with bilm-tf's own training graph.

    python -m tests.benchmarks.training --text FILE

FILE holds one sentence a line, tokens separated by spaces. Both systems read the
same sentences of it, each in a random order of its own, and have the same
vocabulary, the same options and the same processors.

bilm-tf's training lives on in `simple_elmo.training`, which runs here in an
environment of its own on TensorFlow 2.21: its `train` builds the graph and runs its
own loop over its own batches. Nothing of the graph is replaced. TensorFlow 2 refuses
its placeholders and its `train_perplexity += loss`, so TensorFlow 1's behaviour is
switched on (`tf.compat.v1.disable_v2_behavior`). Keras 3 has no
`tf.compat.v1.nn.rnn_cell`, so tf_keras provides it (`TF_USE_LEGACY_KERAS=1`). Each step
of its loop computes a summary of all gradients' norms, which is left in.

Only the steps are timed: bilm-tf's `Session.run` with its feeding, and our call of the
traced function; making the batches is not timed for either. A token is a position of
one direction, `batch_size · unroll_steps` of them in a step of either system. The first
steps trace and compile, and are not counted. Each system is a process of its own; they
take turns, and the other one waits.

The loss is that of the sampled softmax in the steps of the last round, before which
both have made the same number of steps. It shows whether both learn equally well, but
varies widely in the first dozens of steps. "Of peak" is the arithmetic that a step needs
(`arithmetic.of_training_step`: each distinct word once, no padding) divided by time, as a
share of the speed of a large matrix product of the same dtype before or after the
rounds. Peak memory is that of the process, text and
vocabulary included. "Busy" is processor time divided by time: the number of processors
that the steps used. Where it is well below --threads for both, something else was
running.
"""

import argparse
import contextlib
import itertools
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import run_command
from elmo_keras.config import PRESETS, ElmoConfig
from elmo_keras.text.vocabulary import Vocabulary
from elmo_keras.training.options import TrainingOptions
from tests.benchmarks.workers import (
    ENVIRONMENTS,
    HERE,
    ROOT,
    Worker,
    heading,
    machine,
    python_with,
    read,
    row,
    spread,
    started,
    use_processors,
)

PEER = "bilm-tf"
OURS = {
    "elmo-keras float32": "float32",
    "elmo-keras bfloat16": "mixed_bfloat16",
}  # name → dtype policy
PEER_PACKAGES = ("simple-elmo==0.9.2", "tensorflow==2.21.0", "tf_keras==2.21.0")
COLUMNS = (
    "preset",
    "system",
    "tokens/s: median (lowest – highest)",
    "ratio",
    "of peak",
    "sampled loss",
    "peak memory",
    "busy",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command("training.py", lambda: report(options))


def report(options: argparse.Namespace) -> None:
    """Measures and prints the tables."""
    sentences = read(options.text)
    vocabulary = Vocabulary.count(sentences, options.vocabulary_size)
    check(vocabulary, options)
    sentences = enough(sentences, options)
    use_processors(options.threads)
    python = python_with(PEER_PACKAGES, folder=options.environments)
    print(described(sentences, vocabulary, options))
    print(heading(COLUMNS), flush=True)
    for preset in options.presets:
        versions = compare(
            preset, sentences, vocabulary, options=options, python=python
        )
    print(f"\n{machine(options.threads)}; {versions}")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    cores = len(os.sched_getaffinity(0))
    p.add_argument("--text", required=True, metavar="FILE", type=Path)
    p.add_argument("--environments", default=ENVIRONMENTS, metavar="DIR", type=Path)
    presets = ["tiny", "small", "original"]
    p.add_argument("--presets", nargs="+", default=presets, choices=sorted(PRESETS))
    p.add_argument("--systems", nargs="+", default=[*OURS], choices=[*OURS])
    p.add_argument("--vocabulary-size", type=positive(int), help="maximum")
    p.add_argument("--batch-size", type=positive(int), default=128)
    p.add_argument("--negatives", type=positive(int), default=8192)
    p.add_argument(
        "--warmup", type=positive(int), default=3, help="steps that are not counted"
    )
    p.add_argument("--rounds", type=positive(int), default=10)
    p.add_argument(
        "--steps", type=positive(int), default=4, help="of each system in a round"
    )
    p.add_argument(
        "--gemm-size", type=positive(int), default=4096, help="rows and columns"
    )
    p.add_argument(
        "--threads", type=positive(int), default=cores, help="processors to use"
    )
    return p


def check(vocabulary: Vocabulary, options: argparse.Namespace) -> None:
    """Raises a ValueError if the vocabulary is too small for a sampled softmax."""
    if len(vocabulary) <= options.negatives:
        raise ValueError(
            f"The vocabulary should have more words than the {options.negatives} "
            f"negatives. It has {len(vocabulary)}: give more text or fewer --negatives."
        )


def enough(sentences: list[list[str]], options: argparse.Namespace) -> list[list[str]]:
    """The first sentences, enough for every row of every batch."""
    steps = options.warmup + options.rounds * options.steps
    row_length = steps * TrainingOptions.unroll_steps
    total = longest = 0
    for n, sentence in enumerate(sentences, start=1):
        total += len(sentence) + 1
        longest = max(longest, len(sentence) + 1)
        if total >= options.batch_size * (row_length + longest):
            return sentences[:n]
    raise ValueError(
        f"{steps} steps of {options.batch_size} rows need at least "
        f"{options.batch_size * (row_length + longest)} tokens. The text has {total}: "
        "give more text or fewer --rounds, --steps or --batch-size."
    )


def compare(
    preset: str,
    sentences: list[list[str]],
    vocabulary: Vocabulary,
    *,
    options: argparse.Namespace,
    python: Path,
) -> str:
    """Measures one preset and prints its rows; returns the versions."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        write_inputs(folder, preset, sentences, vocabulary=vocabulary, options=options)
        names = [PEER, *options.systems]
        workers = [stack.enter_context(start(n, python, folder)) for n in names]
        peaks = [peak(worker, options.gemm_size) for worker in workers]
        answers = measured(workers, options)
        peaks = [max(p, peak(w, options.gemm_size)) for p, w in zip(peaks, workers)]
        of_peer = statistics.median(speeds(answers[0]))
        for worker, rounds, speed in zip(workers, answers, peaks):
            cells = result(preset, worker, rounds, of_peer=of_peer, peak=speed)
            print(row(cells), flush=True)
        return "; ".join(f"{w.name} on {w.hello}" for w in workers)


def write_inputs(
    folder: Path,
    preset: str,
    sentences: list[list[str]],
    *,
    vocabulary: Vocabulary,
    options: argparse.Namespace,
) -> None:
    """Writes the input of both systems: options.json, vocab.txt, text.txt."""
    training = TrainingOptions(
        batch_size=options.batch_size, n_negative_samples_batch=options.negatives
    )
    n_tokens = sum(map(len, sentences))
    published = ElmoConfig.preset(preset).to_options()
    published |= training.to_options(n_tokens, len(vocabulary))
    published["char_cnn"]["n_characters"] = 261  # bilm-tf's number in training
    (folder / "options.json").write_text(json.dumps(published))
    vocabulary.save(folder / "vocab.txt")
    lines = "".join(" ".join(sentence) + "\n" for sentence in sentences)
    (folder / "text.txt").write_text(lines, encoding="utf-8")


def start(
    name: str, python: str | Path, folder: Path
) -> AbstractContextManager[Worker]:
    """A system in a process of its own, which makes steps on request.

    Args:
        name: `PEER` or a key of `OURS`.
        python: the peer's interpreter.
        folder: holds the inputs.
    """
    if name == PEER:
        command = [python, HERE / "training_bilm_tf.py", folder]
        variables = {"TF_USE_LEGACY_KERAS": "1"}
    else:
        script = HERE / "training_elmo_keras.py"
        command = [sys.executable, script, folder, OURS[name]]
        variables = {"PYTHONPATH": str(ROOT)}
    return started(name, command, folder, environment=variables)


def peak(worker: Worker, size: int) -> float:
    """Operations a second of a large matrix product in ours; 0 for the peer."""
    return worker.ask(f"gemm {size}") if worker.name in OURS else 0.0


def measured(workers: list[Worker], options: argparse.Namespace) -> list[tuple]:
    """Each worker's answers, one a round; the workers take turns."""
    for worker in workers:
        worker.ask(f"step {options.warmup}")
    rounds = []
    for _ in range(options.rounds):
        rounds.append([worker.ask(f"step {options.steps}") for worker in workers])
    tokens = options.steps * options.batch_size * TrainingOptions.unroll_steps
    for answer in itertools.chain(*rounds):
        if answer["tokens"] != tokens:
            raise RuntimeError(f"A round has {tokens} tokens. Received: {answer}")
    return list(zip(*rounds))


def speeds(answers: Sequence[dict[str, Any]]) -> list[float]:
    """Tokens a second, one for each round."""
    return [answer["tokens"] / answer["seconds"] for answer in answers]


def result(
    preset: str,
    worker: Worker,
    answers: Sequence[dict[str, Any]],
    *,
    of_peer: float,
    peak: float,
) -> list[str]:
    """The cells of a row of the table.

    Args:
        preset: for the table.
        worker: the system.
        answers: its answers, one a round.
        of_peer: tokens a second of the peer.
        peak: operations a second of a large matrix product, 0 if not measured.
    """
    rates = speeds(answers)
    done = [answer.get("operations", 0) / answer["seconds"] for answer in answers]
    busy = [answer["processor_seconds"] / answer["seconds"] for answer in answers]
    return [
        preset,
        worker.name,
        spread(rates),
        f"{statistics.median(rates) / of_peer:.2f}",
        f"{statistics.median(done) / peak:.0%}" if peak else "–",
        f"{answers[-1]['loss']:.3f}",
        f"{worker.peak_memory():.2f} GB",
        f"{statistics.median(busy):.2f}",
    ]


def described(
    sentences: list[list[str]], vocabulary: Vocabulary, options: argparse.Namespace
) -> str:
    """A description of what is measured."""
    last = options.warmup + options.rounds * options.steps
    return (
        f"A step has {options.batch_size} rows of {TrainingOptions.unroll_steps} tokens "
        f"and {options.negatives:,} negatives of {len(vocabulary):,} words; the text "
        f"has {sum(map(len, sentences)):,} tokens. {options.rounds} rounds of "
        f"{options.steps} steps after {options.warmup}; the loss is the mean of steps "
        f"{last - options.steps + 1} to {last}.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
