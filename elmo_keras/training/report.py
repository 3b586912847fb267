"""The reports of a run: lines about its inputs and its result, and the model card."""

import datetime
import json
import platform
from pathlib import Path

import numpy as np

from elmo_keras.files import installed_version
from elmo_keras.formats.published import n_parameters
from elmo_keras.hub.catalogue import CARD, CURVES
from elmo_keras.training.inputs import Inputs
from elmo_keras.training.options import Limits, TextData
from elmo_keras.training.progress import Progress
from elmo_keras.training.run import TrainingRun
from elmo_keras.training.streams import Streams
from elmo_keras.util.command import CommandFailed
from elmo_keras.util.markdown_table import markdown_table

PACKAGES = "elmo-keras", "tensorflow", "keras", "numpy"
STRETCHES = 40  # points of the curve of mean losses


def describe_inputs(inputs: Inputs, streams: Streams) -> str:
    train, valid = inputs.statistics
    n_words = len(inputs.vocabulary)
    softmax = n_words * (inputs.config.projection_dim + 1)
    lines = [
        f"Training text: {train}",
        f"Held-out text: {valid}",
        f"Vocabulary: {n_words:,} words",
        f"Model: {n_parameters(inputs.config):,} parameters, plus {softmax:,} in the "
        "softmax",
    ]
    if inputs.new_softmax:
        lines.append(
            "Softmax: a new one, as with --new-softmax. The model to start from has none "
            "over this vocabulary."
        )
    n_predictions, rows = streams.corpus.n_predictions, streams.n_rows
    if rows * streams.unroll_steps > n_predictions:
        lines.append(
            f"Warning: a batch of {rows:,} rows of {streams.unroll_steps} tokens is "
            f"larger than the training text, which has {n_predictions:,} tokens and "
            "sentence ends: part of each batch is empty. Give a lower --batch-size."
        )
    return "\n".join(lines)


def describe_resumption(progress: Progress, limits: Limits, checkpoint: Path) -> str:
    reached = limits.reached(progress)
    if not reached:
        return f"Resuming from step {progress.step:,}, {checkpoint}"
    ends = " and ".join(f"--{name} {limit}" for name, limit in reached.items())
    return (
        f"Training is finished: {checkpoint} has reached {ends}. To continue, give a "
        f"higher {' and '.join(f'--{name}' for name in reached)}."
    )


def describe_result(progress: Progress, finished: bool) -> str:
    """Lines with both perplexities and their ratio, or the step of the interruption."""
    if not finished:
        step = progress.step
        return f"Interrupted at step {step:,}. The same command resumes there."
    before = progress.evaluations()[0]
    after = progress.best_evaluation() or before
    times = progress.chosen_mean(before) / progress.chosen_mean(after)
    verb = "fell to 1/" if times >= 1 else "rose to "
    return (
        f"Held-out perplexity before training: {before}\n"
        f"Held-out perplexity after training:  {after}\n"
        f"The mean {verb}{max(times, 1 / times):.1f} of what it was"
    )


def write_card(run: TrainingRun, data: TextData, output: Path) -> None:
    try:
        (output / CARD).write_text(model_card(run, data), encoding="utf-8")
        draw_curves(run.progress, output / CURVES, run.loss_name)
    except ImportError:
        print("There are no curves without matplotlib: pip install matplotlib")
    except OSError as error:
        raise CommandFailed(
            f"The model in {output} is complete, but {CARD} or {CURVES} was not "
            f"written: {error.strerror or error}. The same command tries again."
        ) from error


def model_card(run: TrainingRun, data: TextData) -> str:
    reference = ["Python's language reference"]
    train, valid = run.inputs.statistics
    options = [(name, f"`{json.dumps(v)}`") for name, v in run.metadata.items()]
    sections = {
        "Held-out perplexity (full softmax)": _perplexity(run.progress),
        "Text": (
            f"- Training ({', '.join(data.train or reference)}): {train}\n"
            f"- Held-out ({', '.join(data.valid or reference)}): {valid}"
        ),
        "Vocabulary": (
            f"{run.streams.vocabulary_size:,} words, SHA-256 "
            f"`{run.metadata['vocabulary']}`"
        ),
        "Training": _training(run),
        "Held-out perplexity during training": _evaluations(run.progress),
        "Options": markdown_table(("option", "value"), options),
        "Versions": _versions(),
    }
    title = f"# ELMo biLM, {run.bilm.count_params():,} parameters\n"
    parts = [f"## {heading}\n\n{text}\n" for heading, text in sections.items()]
    return "\n".join([title, *parts])


def _perplexity(progress):
    best = progress.best_evaluation()
    if best is None:
        return "Not evaluated yet"
    chosen = "first" if progress.chosen_by == "zero" else "second"
    return (
        f"- each sentence from the zero state, as `Elmo` reads it: {best.zero}\n"
        "- state carried over from sentence to sentence, as in published perplexities: "
        f"{best.carried}\n\n"
        f"The {chosen} mean chose the weights."
    )


def _evaluations(progress):
    heads = "forward", "backward", "carried: forward", "carried: backward"
    rows = []
    for (tokens, *_), both in zip(progress.held_out, progress.evaluations()):
        rows.append((f"{tokens:,}", *(f"{x:.1f}" for x in (*both.zero, *both.carried))))
    return markdown_table(("tokens read", *heads), rows)


def _training(run):
    progress, loss = run.progress, run.progress.recent_loss()
    parts = [
        f"{progress.step:,} steps",
        f"{progress.tokens:,} tokens in each direction",
        f"{progress.seconds / 60:.1f} minutes of steps",
    ]
    if progress.seconds:
        speed, n = progress.tokens / progress.seconds, run.strategy.num_replicas_in_sync
        parts.append(f"{speed:,.0f} tokens/s on {n} replica(s)")
    if loss is not None:
        parts.append(f"mean {run.loss_name} of the last steps {loss:.3f}")
    return f"{', '.join(parts)}.\n\n![Curves](curves.png)"


def _versions():
    versions = [f"{p} {installed_version(p) or '(not installed)'}" for p in PACKAGES]
    day = datetime.date.today().isoformat()
    return f"{', '.join(versions)}; Python {platform.python_version()}; {day}"


def draw_curves(progress: Progress, path: Path, loss_name: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    training, validation = figure.subplots(1, 2)
    _draw_loss(training, progress.loss_rows())
    training.set(title=f"Training text: {loss_name}", ylabel="nats a token")
    _draw_perplexity(validation, np.array(progress.held_out).reshape(-1, 3))
    validation.set(title="Held-out text: full softmax", ylabel="perplexity")
    for axes in (training, validation):
        axes.set_xlabel("tokens read in each direction")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x / 1e6:g} M")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)


def _draw_loss(axes, rows):
    """The rows, and means of stretches of them."""
    stretches = np.array_split(rows, min(STRETCHES, len(rows))) if len(rows) else []
    means = [
        np.average(stretch, axis=0, weights=stretch[:, 1] - stretch[:, 0])
        for stretch in stretches
    ]
    thin = {"color": "tab:gray", "linewidth": 0.7, "alpha": 0.7}
    for points, style in (
        (rows, thin),
        (np.reshape(means, (-1, 3)), {"color": "black"}),
    ):
        axes.plot(points[:, :2].mean(axis=1), points[:, 2], **style)
    if means:  # the first steps would leave no room for the others
        axes.set_ylim(top=1.05 * np.max(means, axis=0)[2])


def _draw_perplexity(axes, points):
    from matplotlib.ticker import LogLocator, NullLocator

    for name, values, marker in zip(("forward", "backward"), points[:, 1:].T, "><"):
        axes.plot(points[:, 0], values, marker=marker, markersize=3, label=name)
    axes.set_yscale("log")
    if len(points):  # that of a new model is as high as its number of words
        perplexities = points[:, 1:]
        axes.set_ylim(top=1.05 * min(perplexities.max(), 5 * perplexities.min()))
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.legend(frameon=False)
