"""Embedding, training, tasks and serving in two checkouts of this repository.

    git worktree add OTHER COMMIT
    python -m tests.benchmarks.checkouts --checkout OTHER --text FILE
    python -m tests.benchmarks.checkouts --checkout OTHER --work epochs --data ../shared/data

FILE holds one sentence a line, tokens separated by spaces. Both checkouts run in this
Python, through public names and commands only, over the same random weights, sentences
and options, in turns:

- embedding: `Elmo.layers` in a graph, with `embed_corpus` for the whole text, and
  `Embedder`; the difference is between the vectors of a batch of 32;
- training: steps of `train.py` (see `training.py`); the difference is between losses;
- serving: each one's `export` and `export.serve`, with the differences of the vectors;
- epochs: a task's command, with a frozen language model and cached layers, without
  scoring; the first epoch also traces and compiles, and is not counted.

The ratio is this checkout's median to the other's.
"""

import contextlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_keras.cli.argument_types import positive
from tests.benchmarks import runner, training
from tests.benchmarks.arithmetic import n_tokens
from tests.benchmarks.embedding import batches_of, per_second
from tests.benchmarks.runner import ROOT, head, in_turns, ratio, row, spread
from tests.benchmarks.serving import Clients, Server
from tests.support.serving_load import grpc_client

COMPARED, REQUESTS = 32, 200  # sentences whose vectors are compared; to be served
WAYS = {"float32": "embedding", "embedder": "Embedder"}


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


class Comparison:
    """What is compared.

    Args:
        checkouts: this one and the other, by name.
        preset: of the language model.
        sentences: to embed, and to be served.
        rounds, seconds: of each row.
    """

    def __init__(self, checkouts, preset, sentences, *, rounds: int, seconds: float):
        self.checkouts, self.preset = checkouts, preset
        self.sentences, self.rounds, self.seconds = sentences, rounds, seconds

    def row(self, work: str, values: dict, difference=None, digits: int = 0) -> None:
        """Prints a row of the table; without a difference, none was measured."""
        cells = [spread(own, digits) for own in values.values()]
        shown = "–" if difference is None else f"{difference:.1e}"
        row(self.preset, work, *cells, ratio(*values.values()), shown)

    def workers(self, stack, script: str, *arguments) -> dict[str, runner.Worker]:
        """A worker of each checkout, until the stack is closed."""
        return {
            name: stack.enter_context(
                runner.worker(script, *arguments, checkout=checkout)
            )
            for name, checkout in self.checkouts.items()
        }

    def embedding(self, way: str, batch_sizes: Sequence[int]) -> None:
        """Embeds batches and the whole text."""
        sentences, n = self.sentences, len(self.sentences)
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(runner.inputs(self.preset, sentences))
            workers, vectors = self.workers(stack, "ours", folder, way), []
            for name, worker in workers.items():
                path = folder / f"{name}.npy"
                places = list(range(min(COMPARED, n)))
                worker.ask("save", batches=[places], path=str(path))
                vectors.append(np.load(path))
            difference = float(np.abs(vectors[0] - vectors[1]).max())
            for size in [*batch_sizes, None]:

                def ask(worker, i, size=size, file=str(folder / "sentences.txt")):
                    if size is None:
                        return worker.ask("file", path=file)
                    return worker.ask("embed", batches=batches_of(i, size, n))

                asks = {k: lambda i, w=w, a=ask: a(w, i) for k, w in workers.items()}
                found = in_turns(asks, seconds=self.seconds)
                tokens = [
                    n_tokens(
                        sentences[place]
                        for batch in (batches_of(i, size, n) if size else [range(n)])
                        for place in batch
                    )
                    for i in range(len(found["this"]))
                ]
                rates = {name: per_second(tokens, own) for name, own in found.items()}
                what = f"batch {size}" if size else "whole file"
                self.row(f"{WAYS[way]}, {what}, tokens/s", rates, difference)

    def training(self, text: Path, words: int, warmup: int, steps: int, **sizes):
        """Makes training steps."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            arguments = training.written(folder, text, words, **sizes)
            arguments += ["--preset", self.preset]
            runs = {
                name: training.TrainPy(folder / name, checkout, *arguments)
                for name, checkout in self.checkouts.items()
            }
            for run in runs.values():
                run.steps(warmup)
            asks = {name: lambda _, r=run: r.steps(steps) for name, run in runs.items()}
            found = in_turns(asks, rounds=self.rounds)
        losses = zip(*(run.losses for run in runs.values()), strict=True)
        rates = {name: training.speeds(answers) for name, answers in found.items()}
        difference = max(abs(a - b) for a, b in losses)
        self.row("training step, tokens/s", rates, difference)

    def serving(self, clients: Sequence[int]) -> None:
        """Exports and serves."""
        texts = [" ".join(sentence) for sentence in self.sentences[:REQUESTS]]
        seconds = self.seconds / self.rounds
        with contextlib.ExitStack() as stack:
            folder, loads = stack.enter_context(runner.inputs(self.preset)), {}
            for name, checkout in self.checkouts.items():
                subprocess.run(
                    [sys.executable, "-m", "export", folder, folder / name],
                    cwd=checkout,
                    env=runner.environment(checkout),
                    stdout=subprocess.DEVNULL,
                    check=True,
                )
                server = stack.enter_context(Server(folder / name, checkout=checkout))
                if not loads:
                    predict = stack.enter_context(grpc_client(server.port))
                    expected = {text: predict(text.split(" "))[1] for text in texts}
                loads[name] = Clients(server.port, expected)
            for n in clients:
                asks = {k: lambda _, f=f, n=n: f(n, seconds) for k, f in loads.items()}
                in_turns(asks, rounds=1)
                found = in_turns(asks, rounds=self.rounds)
                rates = {k: [len(t) / seconds for t in f] for k, f in found.items()}
                p50 = {
                    k: [1e3 * statistics.median(t) for t in f] for k, f in found.items()
                }
                difference = max(load.largest for load in loads.values())
                self.row(f"serving {n}, requests/s", rates, difference, 1)
                self.row(f"serving {n}, p50 in ms", p50, digits=1)
        if failed := sum(load.failed for load in loads.values()):
            raise RuntimeError(f"{failed} answers were wrong or missing.")

    def epochs(self, case: str, data: Path) -> None:
        """Trains the model of a task's command."""
        task, file, limit = CASES[case]
        if not (data / file).exists():
            raise FileNotFoundError(f"--data should hold {file}.")
        epochs = self.rounds + 1
        arguments = ["--train", data / file, "--dev", data / file, "--limit", limit]
        arguments += ["--seeds", 1, "--epochs", epochs, "--patience", epochs]
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(runner.inputs(self.preset))
            arguments += ["--elmo", folder, "--output"]
            asks = {}
            for name, checkout in self.checkouts.items():
                worker = runner.worker(
                    "epochs", task, *arguments, folder / name, checkout=checkout
                )
                worker = stack.enter_context(worker)
                asks[name] = lambda _, w=worker: w.ask("epoch")
            found = in_turns(asks, rounds=epochs)
        losses = [own[-1]["loss"] for own in found.values()]
        for measure in ("seconds", "processor"):
            times = {k: [a[measure] for a in own[1:]] for k, own in found.items()}
            difference = abs(losses[0] - losses[1])
            self.row(f"{case}, {measure} an epoch", times, difference, 2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    p = runner.parser(
        __doc__,
        presets=["small"],
        sentences=1024,
        batch_sizes=[1, 32],
        seconds=15,
        rounds=6,
    )
    add, work = p.add_argument, ("embedding", "training", "serving", "epochs")
    add("--checkout", required=True, metavar="DIR", type=Path, help="the other one")
    add("--work", nargs="+", default=work[:3], choices=work)
    add("--text", metavar="FILE", type=Path)
    add("--data", metavar="DIR", type=Path, help="for the epochs of tasks")
    add("--cases", nargs="+", default=[*CASES], choices=CASES)
    add("--words", type=positive(int), default=50_000, help="of the vocabulary")
    add("--clients", nargs="*", type=positive(int), default=[1, 16])
    training.add_sizes(p)
    return runner.run(p, report, arguments)


def report(
    presets, work, text, data, cases, checkout, sentences, batch_sizes, clients, **more
) -> None:
    """Measures and prints the table."""
    needed = {"epochs": data, "embedding": text, "training": text, "serving": text}
    for name in work:
        if needed[name] is None:
            raise ValueError(
                f"{name} needs --{'data' if name == 'epochs' else 'text'}."
            )
    given = runner.read(text, sentences) if text else []
    rounds, seconds = more.pop("rounds"), more.pop("seconds")
    what = "this checkout: median (lowest – highest)", "the other", "ratio"
    head("preset", "work", *what, "largest difference")
    checkouts = {"this": ROOT, "other": checkout}
    for preset in presets:
        compare = Comparison(checkouts, preset, given, rounds=rounds, seconds=seconds)
        if "embedding" in work:
            for way in WAYS:
                compare.embedding(way, batch_sizes)
        if "training" in work:
            compare.training(text, **more)
        if "serving" in work:
            compare.serving(clients)
        if "epochs" in work:
            for case in cases:
                compare.epochs(case, data)


if __name__ == "__main__":
    sys.exit(main())
