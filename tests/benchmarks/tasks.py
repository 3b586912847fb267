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

import itertools
import sys

from tests.benchmarks import runner
from tests.benchmarks.arithmetic import n_tokens
from tests.benchmarks.embedding import ALLENNLP

WARMUP, BATCH_SIZE = 2, 32
SCRIPTS = {ALLENNLP: "with_allennlp", "elmo-keras": "ours"}


@runner.command
def main(
    *,
    text: runner.File,
    presets: runner.Presets = ("small", "original"),
    rounds: runner.Number = 5,
) -> None:
    """Measures and prints the table."""
    rounds += WARMUP
    sentences = runner.read(text, rounds * BATCH_SIZE)
    starts = range(0, len(sentences), BATCH_SIZE)
    batches = [[*range(start, start + BATCH_SIZE)] for start in starts]
    tokens = [n_tokens(sentences[i] for i in batch) for batch in batches]
    losses = "first loss", "last loss"
    runner.head(
        "preset", "step", "system", runner.RATE, "ratio", *losses, "peak memory"
    )
    for preset, kind in itertools.product(presets, ("fine-tuning", "frozen")):
        with (
            runner.inputs(preset, sentences) as folder,
            runner.started(
                {
                    n: runner.worker(script, folder, kind)
                    for n, script in SCRIPTS.items()
                }
            ) as workers,
        ):
            found = runner.in_turns(
                workers, lambda w, i: w.ask("step", batch=batches[i]), rounds=rounds
            )
            peaks = {name: worker.peak_memory() for name, worker in workers.items()}
        rates = {
            name: runner.per_second(tokens, own)[WARMUP:] for name, own in found.items()
        }
        for name, rate in rates.items():
            shown = (f"{found[name][i]['result']:.6f}" for i in (0, -1))
            cells = runner.spread(rate), runner.ratio(rate, rates[ALLENNLP]), *shown
            runner.row(preset, kind, name, *cells, f"{peaks[name]:.2f} GB")


if __name__ == "__main__":
    sys.exit(main())
