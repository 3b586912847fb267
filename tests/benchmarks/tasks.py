"""Tokens a second of training in a task, compared with AllenNLP.

    python -m tests.benchmarks.tasks --text FILE

FILE holds one sentence a line, tokens separated by spaces. AllenNLP's `Elmo` on
PyTorch and elmo-keras' start from the same random weights and make the same steps of
gradient descent with the same batches of a random sample of the sentences. Equal
losses show that they compute the same.

- fine-tuning: the loss is the mean square of the vectors, and gradients go through
  the mix into all of the biLM (`requires_grad=True`, `trainable_bilm=True`);
- frozen: a linear tagger over the vectors of a frozen biLM; elmo-keras makes the step
  of `fit` (`train_on_batch`).

A step's time covers everything from lists of `str` to updated weights. There is no
dropout; AllenNLP's LSTM state is reset before each step. The systems take turns, a
batch each; only real tokens count. The first two steps of each trace and compile, and
are not counted.
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

from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import run_command
from elmo_keras.config import PRESETS
from tests.benchmarks.arithmetic import n_tokens
from tests.benchmarks.embedding_systems import (
    ALLENNLP,
    allennlp_python,
    write_inputs,
)
from tests.benchmarks.turns import sample
from tests.benchmarks.workers import (
    ENVIRONMENTS,
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

WARMUP = 2
KINDS = ("fine-tuning", "frozen")
COLUMNS = (
    "preset",
    "step",
    "system",
    "tokens/s: median (lowest – highest)",
    "ratio",
    "first loss",
    "last loss",
    "peak memory",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command("tasks.py", lambda: report(options))


def report(options: argparse.Namespace) -> None:
    """Measures and prints the tables."""
    number = (options.rounds + WARMUP) * options.batch_size
    sentences = sample(read(options.text), number)
    use_processors(options.threads)
    python = allennlp_python(options.environments)
    print(f"{options.rounds} batches of {options.batch_size} sentences\n")
    print(heading(COLUMNS), flush=True)
    for preset in options.presets:
        with tempfile.TemporaryDirectory() as folder:
            write_inputs(Path(folder), preset, sentences)
            for kind in KINDS:
                cells = compared(
                    kind,
                    sentences,
                    Path(folder),
                    python=python,
                    size=options.batch_size,
                )
                lines = [row([preset, kind, *line]) for line in cells]
                print("\n".join(lines), flush=True)
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
    p.add_argument("--batch-size", type=positive(int), default=32)
    p.add_argument("--rounds", type=positive(int), default=5)
    p.add_argument(
        "--threads", type=positive(int), default=cores, help="processors to use"
    )
    return p


def compared(kind, sentences, folder, *, python, size) -> list[list[str]]:
    """Measures both systems with one kind of step: the cells of their rows."""
    starts = range(0, len(sentences), size)
    batches = [list(range(start, start + size)) for start in starts]
    with contextlib.ExitStack() as stack:
        systems = [stack.enter_context(w) for w in both(kind, folder, python)]
        answers = [
            [worker.ask(json.dumps({"batches": [batch]})) for worker in systems]
            for batch in batches
        ]
        memory = [worker.peak_memory() for worker in systems]
    tokens = [n_tokens(sentences[i] for i in batch) for batch in batches[WARMUP:]]
    rates = [
        [n / answer["seconds"] for n, answer in zip(tokens, of_system[WARMUP:])]
        for of_system in zip(*answers)
    ]
    of_peer = statistics.median(rates[0])
    return [
        [
            worker.name,
            spread(rates[i]),
            f"{statistics.median(rates[i]) / of_peer:.2f}",
            f"{answers[0][i]['loss']:.6f}",
            f"{answers[-1][i]['loss']:.6f}",
            f"{memory[i]:.2f} GB",
        ]
        for i, worker in enumerate(systems)
    ]


def both(
    kind: str, folder: Path, python: Path
) -> Iterator[contextlib.AbstractContextManager[Worker]]:
    """AllenNLP and elmo-keras, each in a process."""
    for name, interpreter in ((ALLENNLP, python), ("elmo-keras", Path(sys.executable))):
        script = HERE / f"tasks_{name.lower().replace('-', '_')}.py"
        variables = {} if name == ALLENNLP else {"PYTHONPATH": str(ROOT)}
        command = [interpreter, script, folder, kind]
        yield started(name, command, folder, environment=variables)


if __name__ == "__main__":
    sys.exit(main())
