"""Time and memory of coreference and of questions, by the length of the document.

    python -m tests.benchmarks.long_documents --text FILE

FILE holds one sentence a line, tokens separated by spaces. Documents are its first
sentences, each length in a process of its own, with models of the size that the tasks'
commands train and random weights. The memory of a process includes the libraries and
the models.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import run_command
from elmo_keras.config import PRESETS
from tests.benchmarks.arithmetic import n_tokens
from tests.benchmarks.embedding_systems import write_inputs
from tests.benchmarks.workers import (
    HERE,
    ROOT,
    heading,
    machine,
    read,
    row,
    started,
    use_processors,
)

TASKS = "coreference", "answer"
COLUMNS = "task", "sentences", "tokens", "first call", "second call", "peak memory"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command("long_documents.py", lambda: report(options))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    cores = len(os.sched_getaffinity(0))
    lengths = [200, 1_000, 2_000, 5_000, 10_000]
    add = p.add_argument
    add("--text", required=True, metavar="FILE", type=Path)
    add("--tasks", nargs="+", default=TASKS, choices=TASKS)
    add("--preset", default="small", choices=sorted(PRESETS), help="of ELMo")
    add("--lengths", nargs="+", type=positive(int), default=lengths, help="in tokens")
    add("--threads", type=positive(int), default=cores, help="processors to use")
    return p


def report(options: argparse.Namespace) -> None:
    """Measures and prints the table."""
    sentences = read(options.text)
    documents = [beginning(sentences, n) for n in options.lengths]
    use_processors(options.threads)
    print(heading(COLUMNS), flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder, options.preset, [["a"]])
        for task in options.tasks:
            for document in documents:
                print(row(measured(task, document, folder)), flush=True)
    print(f"\n{machine(options.threads)}")


def beginning(sentences: list[list[str]], length: int) -> list[list[str]]:
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
        raise ValueError(
            f"--lengths asks for {length:,} tokens; the text has {len(sentences):,} "
            f"sentences of {length - missing:,} tokens in all."
        )
    return document


def measured(task: str, document: list[list[str]], folder: Path) -> list[str]:
    """The cells of a row: a model reads the document twice."""
    command = [sys.executable, HERE / "long_documents_worker.py", task, folder]
    path = {"PYTHONPATH": str(ROOT)}
    with started(task, command, folder, environment=path) as worker:
        seconds = [worker.ask(json.dumps(document))["seconds"] for _ in range(2)]
        memory = worker.peak_memory()
    counts = [f"{n:,}" for n in (len(document), n_tokens(document))]
    return [task, *counts, *(f"{s:.2f} s" for s in seconds), f"{memory:.2f} GB"]


if __name__ == "__main__":
    sys.exit(main())
