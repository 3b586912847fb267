"""Seconds of an epoch of a task's training, in two checkouts of this repository.

    git worktree add OTHER COMMIT
    python -m tests.benchmarks.task_epochs OTHER --data ../shared/data

Both checkouts train the model of the task's command with the same seed on the same
examples, beside a frozen language model with random weights, whose layers are cached.
They take turns, an epoch each; an epoch is one `fit`, from the examples to updated
weights, without scoring. The first epoch, which also traces and compiles, is shown
apart. Equal losses show that both learn the same.

With --allennlp, the tagger of entities without ELMo is compared with the same model made
of AllenNLP's modules: vectors of words, a CNN over characters, a biLSTM, and a CRF.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import run_command
from elmo_keras.tasks.tag.tagged_text import read_conll
from tests.benchmarks.embedding_systems import allennlp_python, write_inputs
from tests.benchmarks.workers import (
    ENVIRONMENTS,
    HERE,
    ROOT,
    Worker,
    heading,
    machine,
    row,
    spread,
    started,
    use_processors,
)


class Case(NamedTuple):
    """A task, its training file below `--data`, and the first N examples to read."""

    task: str
    file: str
    limit: int


CASES = {
    "wikigold": Case(
        "tag", "en_ner_misc/wikigold/CONLL-format/data/wikigold.conll.txt", 2000
    ),
    "en_ewt": Case("tag", "en_ewt/en_ewt-ud-train.conllu", 2000),
    "en_snli": Case("entail", "en_snli/dev.txt", 2000),
    "en_qa": Case("answer", "en_qa/train.json", 250),
}
COLUMNS = (
    "data",
    "examples",
    "system",
    "s/epoch: median (lowest – highest)",
    "ratio",
    "processor s/epoch",
    "ratio",
    "first epoch",
    "last loss",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command("task_epochs.py", lambda: report(options))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    cores = len(os.sched_getaffinity(0))
    add = p.add_argument
    add("other", metavar="OTHER", type=Path, help="the other checkout")
    add("--data", required=True, metavar="DIR", type=Path)
    add("--cases", nargs="+", default=list(CASES), choices=CASES)
    add("--preset", default="tiny", help="size of the language model")
    add("--allennlp", action="store_true", help="for wikigold, see above")
    add("--environments", default=ENVIRONMENTS, metavar="DIR", type=Path)
    add("--limit", type=positive(int), help="first N examples of each file")
    add("--rounds", type=positive(int), default=3, help="epochs after the first one")
    add("--threads", type=positive(int), default=cores, help="processors to use")
    return p


def report(options: argparse.Namespace) -> None:
    """Measures and prints the table."""
    use_processors(options.threads)
    print(heading(COLUMNS), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if not options.allennlp:
            write_inputs(folder, options.preset, [["a"]])
        for name in options.cases:
            arguments = of_case(CASES[name], folder, options)
            workers = systems(arguments, folder, options)
            for cells in measured(workers, options.rounds):
                print(row([name, *cells]), flush=True)
    print(f"\n{machine(options.threads)}")


def of_case(case: Case, folder: Path, options: argparse.Namespace) -> list[str]:
    """The arguments of a worker: the task, and those of its command."""
    file = options.data / case.file
    if not file.exists():
        raise FileNotFoundError(f"--data should hold {case.file}.")
    limit = options.limit or case.limit
    arguments = [case.task, "--train", file, "--limit", limit, "--output", folder]
    arguments += ["--dev", file]  # nothing is held out
    arguments += [] if options.allennlp else ["--elmo", folder]
    return [*map(str, arguments)]


def systems(arguments, folder: Path, options: argparse.Namespace) -> list:
    """The workers, not yet started; others are compared with the first one."""
    ours = HERE / "task_epochs_elmo_keras.py"
    found = []
    for name, checkout in (("other", options.other.resolve()), ("this", ROOT)):
        path = {"PYTHONPATH": str(checkout)}
        command = [sys.executable, ours, *arguments]
        found.append(started(f"{name} checkout", command, folder, environment=path))
    if options.allennlp:
        _, _, file, _, limit, *_ = arguments
        examples = folder / "examples.json"
        examples.write_text(json.dumps(read_conll(file)[: int(limit)]))
        python = allennlp_python(options.environments)
        command = [python, HERE / "task_epochs_allennlp.py", examples]
        found.insert(0, started("AllenNLP", command, folder))
    return found


def measured(workers: Sequence, rounds: int) -> list[list[str]]:
    """Lets the workers train in turns; the cells of their rows."""
    with contextlib.ExitStack() as stack:
        started_workers: list[Worker] = [stack.enter_context(w) for w in workers]
        answers = [
            [worker.ask("epoch") for worker in started_workers]
            for _ in range(1 + rounds)
        ]
    lines, first = [], {}
    for worker, own in zip(started_workers, zip(*answers)):
        cells = [f"{worker.hello['examples']:,}", worker.name]
        for measure in ("seconds", "processor"):
            values = [answer[measure] for answer in own[1:]]
            median = statistics.median(values)
            shown = spread(values, 2) if measure == "seconds" else f"{median:.2f}"
            cells += [shown, f"{first.setdefault(measure, median) / median:.2f}"]
        cells += [f"{own[0]['seconds']:.1f} s", f"{own[-1]['loss']:.5f}"]
        lines.append(cells)
    return lines


if __name__ == "__main__":
    sys.exit(main())
