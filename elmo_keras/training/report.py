"""The reports of a run: lines about its inputs and its result, and the model card."""

import datetime
import json
import platform
import string
from pathlib import Path

import numpy as np

from elmo_keras.base.files import installed_version
from elmo_keras.base.markdown_table import markdown_table
from elmo_keras.formats.published import n_parameters
from elmo_keras.hub.catalogue import CARD, CURVES
from elmo_keras.training.inputs import Inputs
from elmo_keras.training.loop import TrainingRun
from elmo_keras.training.options import TextData
from elmo_keras.training.progress import Progress
from elmo_keras.training.streams import Streams

PACKAGES = "elmo-keras", "tensorflow", "keras", "numpy"
SMOOTHED = 40  # parts of the curve, over each of which the mean is taken


def describe_inputs(inputs: Inputs, streams: Streams) -> str:
    train, valid = inputs.statistics
    n_words, config = len(inputs.vocabulary), inputs.config
    softmax = n_words * (config.projection_dim + 1)
    lines = (
        f"Training text: {train}\nHeld-out text: {valid}\nVocabulary: {n_words:,} words\n"
        f"Model: {n_parameters(config):,} parameters, plus {softmax:,} in the softmax"
    )
    if inputs.new_softmax:
        lines += "\nSoftmax: a new one, with random weights"
    n_predictions, rows = streams.corpus.n_predictions, streams.n_rows
    if rows * streams.unroll_steps > n_predictions:
        lines += (
            f"\nWarning: a batch of {rows:,} rows of {streams.unroll_steps} tokens is "
            f"larger than the training text, which has {n_predictions:,} tokens and "
            "sentence ends: part of each batch is empty. A lower batch size is enough."
        )
    return lines


def describe_result(progress: Progress, chosen: int) -> str:
    """Lines with the perplexities before training and of the evaluation that is kept."""
    results, means = progress.evaluations(), progress.means()
    return (
        f"Held-out perplexity before training: {results[0]}\n"
        f"Held-out perplexity after training:  {results[chosen]}\n"
        f"The mean fell from {means[0]:,.1f} to {means[chosen]:,.1f}"
    )


def describe_rise(progress: Progress) -> str:
    """A sentence on a last perplexity that is not below the one before training."""
    before, *_, after = progress.means()
    times = after / before
    rise = f"{times:,.0f}-fold" if times >= 2 else f"by {times - 1:.1%}"
    return f"The held-out perplexity rose {rise}, from {before:,.1f} to {after:,.1f}."


def write_card(run: TrainingRun, inputs: Inputs, data: TextData, output: Path) -> None:
    """Writes the model card and the curves of a run that has ended."""
    progress, keep_last = run.progress, run.limits.keep_last
    try:
        draw_curves(progress, output / CURVES, run.loss_title)
    except ImportError:
        print("There are no curves without matplotlib: pip install matplotlib")
    result = progress.evaluations()[progress.chosen(keep_last)]
    train, valid = inputs.statistics
    template = Path(__file__).with_name("model_card.md.in").read_text(encoding="utf-8")
    card = string.Template(template).substitute(
        n_parameters=f"{run.model.bilm.count_params():,}",
        zero=result.zero,
        carried=result.carried,
        choice=_describe_choice(keep_last, progress),
        train_files=_names(data.train),
        train=train,
        valid_files=_names(data.valid or data.train),
        valid=valid,
        n_words=f"{len(inputs.vocabulary):,}",
        vocabulary_digest=inputs.vocabulary.digest,
        n_steps=f"{progress.step:,}",
        n_tokens=f"{progress.tokens:,}",
        minutes=f"{progress.seconds / 60:.1f}",
        rate=f"{progress.tokens / max(progress.seconds, 1e-9):,.0f}",
        n_replicas=run.strategy.num_replicas_in_sync,
        loss_title=run.loss_title,
        loss=f"{progress.mean_loss():.3f}",
        curves=CURVES,
        evaluations=_evaluations_table(progress),
        options=markdown_table(
            ("option", "value"),
            [(k, f"`{json.dumps(v)}`") for k, v in run.metadata().items()],
        ),
        versions=", ".join(
            f"{p} {installed_version(p) or '(not installed)'}" for p in PACKAGES
        ),
        python=platform.python_version(),
        date=datetime.date.today().isoformat(),
    )
    (output / CARD).write_text(card, encoding="utf-8")


def _names(patterns):
    return ", ".join(patterns or ["Python’s language reference"])


def _describe_choice(keep_last, progress):
    if keep_last:
        return "The weights are the last ones."
    chosen = "first" if progress.chosen_by == "zero" else "second"
    return f"The {chosen} mean chose the weights."


def _evaluations_table(progress):
    heads = "forward", "backward", "carried: forward", "carried: backward"
    rows = [
        (f"{int(tokens):,}", *(f"{perplexity:.1f}" for perplexity in perplexities))
        for tokens, *perplexities in progress.held_out
    ]
    return markdown_table(("tokens read", *heads), rows)


def draw_curves(progress: Progress, path: Path, loss_name: str) -> None:
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    figure = Figure(figsize=(10, 4), layout="constrained")
    training, validation = figure.subplots(1, 2)
    training.set(title=f"Training text: {loss_name}", ylabel="nats a token")
    _, tokens, loss = np.array(progress.losses, float).reshape(-1, 3).T
    read, window = np.cumsum(tokens), np.ones(len(tokens) // SMOOTHED + 1)
    training.plot(read, loss / tokens, color="tab:gray", linewidth=0.7, alpha=0.7)
    if len(tokens):
        sums = [np.convolve(x, window, "valid") for x in (read, loss, tokens)]
        training.plot(sums[0] / len(window), sums[1] / sums[2], color="black")
    validation.set(title="Held-out text: full softmax", ylabel="perplexity")
    tokens, *perplexities = np.array(progress.held_out).T[:3]
    for name, values, marker in zip(("forward", "backward"), perplexities, "><"):
        validation.plot(tokens, values, marker=marker, markersize=3, label=name)
    validation.legend(frameon=False)
    for axes in (training, validation):
        axes.set(xlabel="tokens read in each direction", yscale="log")
        axes.yaxis.set_minor_locator(LogLocator(subs=(2, 3, 4, 5, 7)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("{x:g}")
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)
