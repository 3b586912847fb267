"""The reports of a run: its inputs, held-out perplexity, the model and its card."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from elmo_keras.cli.command import CommandFailed
from elmo_keras.model_files.model_directory import save_model
from elmo_keras.text.corpus import TextStatistics
from elmo_keras.training.cost import n_parameters
from elmo_keras.training.curves import draw_curves
from elmo_keras.training.distribution import (
    is_chief,
    n_workers,
    sum_over_workers,
    worker,
)
from elmo_keras.training.held_out import HeldOutPerplexity, held_out_sums
from elmo_keras.training.inputs import Inputs, TextFiles
from elmo_keras.training.learnable import remarks
from elmo_keras.training.model_card import model_card
from elmo_keras.training.options import Limits
from elmo_keras.training.progress import Progress
from elmo_keras.training.run import TrainingRun
from elmo_keras.training.streams import Streams

CARD, CURVES = "model_card.md", "curves.png"


class RunStatistics(NamedTuple):
    """Statistics of the texts."""

    training: TextStatistics
    held_out: TextStatistics

    @classmethod
    def of(cls, inputs: Inputs) -> "RunStatistics":
        """Counts the texts of a run."""
        texts = inputs.train, inputs.valid
        vocabulary, config = inputs.vocabulary, inputs.config
        return cls(*(TextStatistics.of(text, vocabulary, config) for text in texts))


def describe_inputs(inputs: Inputs, statistics: RunStatistics, streams: Streams) -> str:
    """Lines about the texts and the sizes of the model, and warnings."""
    n_words = len(inputs.vocabulary)
    softmax = n_words * (inputs.config.projection_dim + 1)
    lines = [
        f"Training text: {statistics.training}",
        f"Held-out text: {statistics.held_out}",
        f"Vocabulary: {n_words:,} words",
        f"Model: {n_parameters(inputs.config):,} parameters, plus {softmax:,} in the "
        "softmax",
    ]
    return "\n".join([*lines, *remarks(statistics.training, streams)])


def held_out_evaluation(
    inputs: Inputs, run: TrainingRun
) -> Callable[[], HeldOutPerplexity]:
    """A function that returns the held-out perplexity; workers share the sentences."""
    valid, strategy = inputs.valid, run.strategy

    def evaluate() -> HeldOutPerplexity:
        sums = held_out_sums(
            run.bilm,
            valid,
            inputs.vocabulary,
            worker=worker(strategy),
            n_workers=n_workers(strategy),
        )
        sums = sum_over_workers(strategy, sums)
        return HeldOutPerplexity.of(sums, valid.n_predictions)

    return evaluate


def write_model(inputs: Inputs, run: TrainingRun, output: Path) -> None:
    """Writes the model directory, on the chief only."""
    if is_chief(run.strategy):
        counts = len(inputs.train.tokens), len(inputs.vocabulary)
        options = run.options.to_options(*counts)
        save_model(output, run.bilm, inputs.vocabulary, options=options)


def write_card(
    run: TrainingRun, text: TextFiles, statistics: RunStatistics, *, output: Path
) -> None:
    """Writes the model card and draws the curves.

    Raises:
        CommandFailed: they can't be written.
    """
    reference = ["Python's language reference"]
    texts = {
        "Training": (text.train or reference, statistics.training),
        "Held-out": (text.valid or reference, statistics.held_out),
    }
    card = model_card(run, texts, best_perplexity(run))
    try:
        (output / CARD).write_text(card, encoding="utf-8")
        draw_curves(run.progress, output / CURVES, run.loss_name)
    except ImportError:
        print("There are no curves without matplotlib: pip install matplotlib")
    except OSError as error:
        raise CommandFailed(
            f"The model in {output} is complete, but {CARD} or {CURVES} was not "
            f"written: {error.strerror or error}. The same command tries again."
        ) from error


def perplexity_before(run: TrainingRun) -> HeldOutPerplexity:
    """The held-out perplexity before the first step."""
    return run.progress.evaluations()[0]


def best_perplexity(run: TrainingRun) -> HeldOutPerplexity | None:
    """The lowest held-out perplexity after a step; None if there is no evaluation."""
    results = run.progress.evaluations()[1:]
    return min(results, key=lambda result: _mean(run, result), default=None)


def _mean(run, result):
    """The mean that chooses the model."""
    return getattr(result, run.progress.chosen_by).mean


def beginning(progress: Progress, limits: Limits, checkpoint: Path) -> str:
    """A line about the checkpoint that a run starts from."""
    reached = limits.reached_options(progress)
    if not reached:
        return f"Resuming from step {progress.step:,}, {checkpoint}"
    more = " and ".join(option.split()[0] for option in reached)
    return (
        f"Training is finished: {checkpoint} has reached {' and '.join(reached)}. "
        f"To continue, give a higher {more}."
    )


def result(run: TrainingRun, finished: bool) -> str:
    """Lines with both perplexities and their ratio, or the step of the interruption."""
    if not finished:
        step = run.progress.step
        return f"Interrupted at step {step:,}. The same command resumes there."
    before, after = perplexity_before(run), best_perplexity(run)
    times = _mean(run, before) / _mean(run, after)
    verb = "fell to 1/" if times >= 1 else "rose to "
    return (
        f"Held-out perplexity before training: {before}\n"
        f"Held-out perplexity after training:  {after}\n"
        f"The mean {verb}{max(times, 1 / times):.1f} of what it was"
    )
