"""Trains a bidirectional language model, fine-tunes one, or prints its perplexity.

    python train.py
    python train.py --train 'text/*.txt.gz' --valid valid.txt --output MODEL_DIR
    python train.py --evaluate --valid test.txt --output MODEL_DIR

Without arguments it trains on the English text that comes with every Python
installation. Text files hold one sentence a line, tokens separated by spaces. The
same command again resumes from the last checkpoint.
"""

import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmo_keras import Embedder
from elmo_keras.analyses.neighbors import context_vectors, occurrences, print_uses
from elmo_keras.text.corpus import TextStatistics
from elmo_keras.training.arguments import data_of, limits_of, parser, settings_of
from elmo_keras.training.options import Limits, RunSettings, TextData
from elmo_keras.util.command import INTERRUPTED, run_command, stopping
from elmo_keras.util.progress import Progress

if TYPE_CHECKING:
    from elmo_keras.training.inputs import Inputs

EXAMPLE_WORD = "return"  # a word of Python's language reference
NEIGHBORS = 3
MAX_USES = 1000


def main(arguments: Sequence[str] | None = None) -> int:
    given = parser(__doc__).parse_args(arguments)

    def work():
        data = data_of(given)
        if given.evaluate:
            return evaluate(given.output, data)
        settings = settings_of(given)
        word = given.neighbors or (None if data.train else EXAMPLE_WORD)
        return train(
            given.output,
            data,
            settings,
            limits_of(given, settings.options),
            word=word,
            dry_run=given.dry_run,
        )

    return run_command("train.py", work)


def train(
    output: Path,
    data: TextData,
    settings: RunSettings,
    limits: Limits,
    *,
    word: str | None,
    dry_run: bool,
) -> int:
    """Trains a model and compares the uses of `word`."""
    # By TensorFlow, without which the command line is read.
    from elmo_keras.training import output as outputs
    from elmo_keras.training import report
    from elmo_keras.training.cost import check_fits, estimate
    from elmo_keras.training.distribution import (
        failures_of_training,
        is_chief,
        make_strategy,
        n_local_replicas,
        sum_over_workers,
        worker,
    )
    from elmo_keras.training.inputs import check_vocabulary, read_inputs
    from elmo_keras.training.loop import fit
    from elmo_keras.training.run import make_run, make_streams, restore

    strategy = make_strategy(settings.replicas)
    n_replicas, chief = strategy.num_replicas_in_sync, is_chief(strategy)
    say = functools.partial(print, flush=True) if chief else lambda *_: None
    outputs.check_output(output, data, settings)
    with outputs.reserved(output, lock=chief and not dry_run):
        say("Reading the text")
        cache = output / f"training/corpus-{worker(strategy)}"
        inputs = read_inputs(data, settings, cache=cache)
        uses = uses_to_show(inputs, word) if word else []
        check_vocabulary(inputs, data)
        streams = make_streams(inputs, settings, strategy)
        n_steps = limits.total_steps(streams.n_steps(0))
        cost = estimate(streams, settings, n_replicas=n_replicas, n_steps=n_steps)
        say(report.describe_inputs(inputs, streams))
        if dry_run:
            say(cost)
        check_fits(cost, n_local_replicas(strategy), output)
        if dry_run:
            return 0
        run = make_run(inputs, streams, settings, strategy=strategy, n_steps=n_steps)
        checkpoint = restore(run, output)
        with failures_of_training(strategy):
            if checkpoint is not None:
                say(report.beginning(run.progress, limits, checkpoint))
            with stopping() as stop:
                finished = fit(run, limits, output, stop=stop.is_set)
            if not outputs.has_model(output):
                outputs.write_model(run, output)
            if chief:
                report.write_card(run, data, output)
            say(f"The model is in {output}\n{report.result(run.progress, finished)}")
            if not finished:
                return INTERRUPTED
            if chief and uses:
                vectors = context_vectors(Embedder(output, layers="top"), uses)
                print_uses(uses, vectors, NEIGHBORS)
            sum_over_workers(strategy, np.zeros(()))  # waits for all of them
    return 0


def evaluate(output: Path, data: TextData) -> int:
    from elmo_keras import LanguageModel
    from elmo_keras.training.inputs import validation_text

    model = LanguageModel.from_pretrained(output)
    config = model.bilm.config
    valid = validation_text(data, config)
    print(f"Held-out text: {TextStatistics.of(valid, model.vocabulary, config)}")
    with Progress(total=valid.n_predictions) as bar:
        perplexity = model.perplexity(valid, progress=bar.update)
    print(f"Held-out perplexity: {perplexity}")
    return 0


def uses_to_show(inputs: "Inputs", word: str) -> list:
    """Uses of the word whose neighbors are printed at the end."""
    texts = inputs.train, inputs.valid
    uses = [use for text in texts for use in occurrences(text, word, MAX_USES)]
    if len(uses) <= NEIGHBORS:
        raise ValueError(
            f"--neighbors {word}: the text has {len(uses)} uses of it, and "
            f"{NEIGHBORS + 1} are needed."
        )
    return uses


if __name__ == "__main__":
    sys.exit(main())
