"""Tokens a second of training in a task, compared with AllenNLP.

    python -m tests.benchmarks.tasks --text FILE

FILE holds one sentence a line, tokens separated by spaces. Both make the same steps of
gradient descent, without dropout, from the same random weights, with the same batches.
Equal losses show that they compute the same.

- fine-tuning: the loss is the mean square of the vectors, and gradients go through
  the mix into all of the biLM (`requires_grad=True`, `trainable_bilm=True`);
- frozen: a linear tagger over the vectors of a frozen biLM; elmo-keras makes the step
  of `fit` (`train_on_batch`).

A step goes from lists of `str` to updated weights. The first two trace and compile, and
are not counted.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks import runner
from tests.benchmarks.embedding import ALLENNLP

WARMUP, BATCH_SIZE = 2, 32
SCRIPTS = {ALLENNLP: "with_allennlp", "elmo-keras": "ours"}


def main(
    *,
    text: Path,
    presets: Sequence[runner.Preset] = ("small", "original"),
    rounds: runner.Count = 5,
) -> None:
    rounds += WARMUP
    sentences = runner.read(text, rounds * BATCH_SIZE)
    starts = range(0, len(sentences), BATCH_SIZE)
    batches = [sentences[start : start + BATCH_SIZE] for start in starts]
    losses = "first loss", "last loss"
    runner.head(
        "preset", "step", "system", runner.RATE, "ratio", *losses, "peak memory"
    )
    for preset, kind in itertools.product(presets, ("fine-tuning", "frozen")):
        with (
            runner.inputs(preset) as folder,
            runner.started(
                {
                    n: runner.worker(script, folder, kind)
                    for n, script in SCRIPTS.items()
                }
            ) as workers,
        ):
            found = runner.in_turns(
                workers, lambda w, i: w.ask("run", batches=[batches[i]]), rounds=rounds
            )
            peaks = {name: f"{w.peak_memory():.2f} GB" for name, w in workers.items()}
        counted = {name: answers[WARMUP:] for name, answers in found.items()}
        for name, cells in runner.compared(runner.speeds(counted)).items():
            shown = (f"{found[name][i]['result'][0]:.6f}" for i in (0, -1))
            runner.row(preset, kind, name, *cells, *shown, peaks[name])


if __name__ == "__main__":
    runner.run(main)
