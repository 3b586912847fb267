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

import tensorflow as tf

from elmo_keras import Elmo
from elmo_keras.analyses.neighbors.occurrences import (
    context_vectors,
    contrasting_neighbors,
    occurrences,
)
from elmo_keras.cli.command import INTERRUPTED, run_command
from elmo_keras.cli.stopping import stopping
from elmo_keras.model_files.model_directory import find_model, load_bilm
from elmo_keras.text.corpus import TextStatistics
from elmo_keras.training import report
from elmo_keras.training.arguments import TrainingCommand, parse_command
from elmo_keras.training.cost import check_fits, estimate
from elmo_keras.training.distribution import (
    failures_of_training,
    is_chief,
    make_strategy,
    n_local_replicas,
    wait_for_all_workers,
    worker,
)
from elmo_keras.training.held_out import held_out_perplexity
from elmo_keras.training.inputs import Inputs, held_out_text, read_inputs
from elmo_keras.training.learnable import check_vocabulary
from elmo_keras.training.loop import fit
from elmo_keras.training.output_directory import check_output, has_model, reserved
from elmo_keras.training.run import TrainingRun, restore, save
from elmo_keras.training.setup import check_same_step, make_run, make_streams

EXAMPLE_WORD = "return"  # a word of Python's language reference
NEIGHBORS = 3
MAX_USES = 1000


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; returns its exit status."""

    def work():
        command = parse_command(__doc__, arguments)
        return evaluate(command) if command.evaluate else train(command)

    return run_command("train.py", work)


def train(command: TrainingCommand) -> int:
    """Trains a model and shows what it learned; returns the exit status."""
    strategy = make_strategy(command.replicas)
    output, chief = command.output, is_chief(strategy)
    check_output(output, command.text, command.words, start=command.start)
    with reserved(output, lock=chief and not command.dry_run):
        if chief:
            print("Reading the text", flush=True)
        cache = output / f"training/corpus-{worker(strategy)}"
        inputs = read_inputs(command.text, command.words, command.start, cache=cache)
        uses = uses_to_show(command, inputs)
        run = prepare(command, inputs, strategy)
        if run is None:
            return 0
        checkpoint = restore(run, output)
        check_same_step(run, output)
        with failures_of_training(strategy):
            if not train_and_report(command, inputs, run, checkpoint=checkpoint):
                return INTERRUPTED
            if chief and uses:
                show_neighbors(Elmo.from_pretrained(output), uses)
            wait_for_all_workers(strategy)
    return 0


def prepare(
    command: TrainingCommand, inputs: Inputs, strategy: tf.distribute.Strategy
) -> TrainingRun | None:
    """Checks and builds the run; returns None if only its cost was wanted."""
    check_vocabulary(inputs, command.words)
    settings = command.settings
    streams = make_streams(inputs, settings, strategy)
    n_steps = command.limits.total_steps(streams.n_steps(0))
    n_replicas = strategy.num_replicas_in_sync
    cost = estimate(streams, settings, n_replicas=n_replicas, n_steps=n_steps)
    if command.dry_run:
        statistics = report.RunStatistics.of(inputs)
        print(report.describe_inputs(inputs, statistics, streams))
        print(cost)
    check_fits(cost, n_local_replicas(strategy), command.output)
    if command.dry_run:
        return None
    return make_run(inputs, streams, settings, strategy=strategy, n_steps=n_steps)


def train_and_report(
    command: TrainingCommand,
    inputs: Inputs,
    run: TrainingRun,
    *,
    checkpoint: Path | None,
) -> bool:
    """Trains, keeping the best weights, and reports; False if it was interrupted."""
    output, chief = command.output, is_chief(run.strategy)
    say = functools.partial(print, flush=True) if chief else lambda *_: None
    statistics = report.RunStatistics.of(inputs)
    say(report.describe_inputs(inputs, statistics, run.streams))
    if checkpoint is not None:
        say(report.beginning(run.progress, command.limits, checkpoint))
    score = report.held_out_evaluation(inputs, run)
    keep = functools.partial(report.write_model, inputs, run, output)
    with stopping() as stop:
        if not run.progress.held_out:
            say("Evaluating before training")
            run.progress.add_held_out(score())
            save(run, output)  # from here on the same command resumes
        say(f"Held-out perplexity before training: {report.perplexity_before(run)}")
        finished = fit(
            run, output, command.limits, evaluate=score, keep=keep, stop=stop.is_set
        )
    if not has_model(output):
        keep()
    if chief:
        report.write_card(run, command.text, statistics, output=output)
    say(f"The model is in {output}\n{report.result(run, finished)}")
    return finished


def evaluate(command: TrainingCommand) -> int:
    """Prints the full-softmax perplexity of a model directory."""
    vocabulary = find_model(command.output).vocabulary
    bilm = load_bilm(command.output)
    if bilm.softmax is None:
        raise ValueError(f"{command.output} has no softmax, so there is no perplexity.")
    valid = held_out_text(command.text, bilm.config)
    print(f"Held-out text: {TextStatistics.of(valid, vocabulary, bilm.config)}")
    found = held_out_perplexity(bilm, valid, vocabulary, verbose=1)
    print(f"Held-out perplexity: {found}")
    return 0


def uses_to_show(command: TrainingCommand, inputs: Inputs) -> list:
    """Uses of the word whose neighbors are printed at the end; [] without a word."""
    word = command.neighbors or (None if command.text.train else EXAMPLE_WORD)
    if word is None:
        return []
    texts = inputs.train, inputs.valid
    uses = [use for text in texts for use in occurrences(text, word, MAX_USES)]
    if len(uses) <= NEIGHBORS:
        raise ValueError(
            f"--neighbors {word}: the text has {len(uses)} uses of it, and "
            f"{NEIGHBORS + 1} are needed."
        )
    return uses


def show_neighbors(elmo: Elmo, uses: list) -> None:
    """Prints the nearest neighbors of the first use, and of the use least like it."""
    found = contrasting_neighbors(context_vectors(elmo, uses), NEIGHBORS)
    for query, neighbors in found:
        print(f"\nNearest to   {uses[query].excerpt()}")
        for other, cosine in neighbors:
            print(f"      {cosine:6.3f} {uses[other].excerpt()}")


if __name__ == "__main__":
    sys.exit(main())
