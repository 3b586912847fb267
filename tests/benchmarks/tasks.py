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

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks import runner
from tests.benchmarks.arithmetic import n_tokens
from tests.benchmarks.embedding import ALLENNLP
from tests.benchmarks.runner import head, in_turns, ratio, row, spread

WARMUP, BATCH_SIZE = 2, 32


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    p = runner.parser(__doc__, text=None, presets=["small", "original"], rounds=5)
    return runner.run(p, report, arguments)


def report(text: Path, presets: Sequence[str], rounds: int) -> None:
    """Measures and prints the table."""
    rounds += WARMUP
    sentences = runner.read(text, rounds * BATCH_SIZE)
    runner.interpreter("with_allennlp")
    rate = "tokens/s: median (lowest – highest)"
    losses = "first loss", "last loss"
    head("preset", "step", "system", rate, "ratio", *losses, "peak memory")
    for preset in presets:
        with runner.inputs(preset, sentences) as folder:
            for kind in ("fine-tuning", "frozen"):
                for cells in compared(kind, sentences, folder, rounds):
                    row(preset, kind, *cells)


def compared(
    kind: str, sentences: list[list[str]], folder: Path, rounds: int
) -> list[list[str]]:
    """Measures both systems with one kind of step: the cells of their rows."""

    def places(i):
        return list(range(i * BATCH_SIZE, (i + 1) * BATCH_SIZE))

    with contextlib.ExitStack() as stack:
        workers = {
            name: stack.enter_context(runner.worker(script, folder, kind))
            for name, script in {
                ALLENNLP: "with_allennlp",
                "elmo-keras": "ours",
            }.items()
        }
        asks = {
            name: lambda i, w=worker: w.ask("step", batch=places(i))
            for name, worker in workers.items()
        }
        found = in_turns(asks, rounds=rounds)
        memory = [f"{worker.peak_memory():.2f} GB" for worker in workers.values()]
    tokens = [n_tokens(sentences[j] for j in places(i)) for i in range(rounds)]
    rates = [
        [n / answer["seconds"] for n, answer in zip(tokens, answers)][WARMUP:]
        for answers in found.values()
    ]
    return [
        [
            name,
            spread(rate),
            ratio(rate, rates[0]),
            *(f"{answers[i]['result']:.6f}" for i in (0, -1)),
            gigabytes,
        ]
        for (name, answers), rate, gigabytes in zip(found.items(), rates, memory)
    ]


if __name__ == "__main__":
    sys.exit(main())
