"""The reports of a run: lines about its inputs and its result, and the model card."""

import datetime
import json
import platform
from pathlib import Path

from elmo_keras.formats.published import n_parameters
from elmo_keras.hub.catalogue import CARD, CURVES
from elmo_keras.text.corpus import TextStatistics
from elmo_keras.training.curves import draw_curves
from elmo_keras.training.inputs import Inputs
from elmo_keras.training.options import Limits, TextData
from elmo_keras.training.progress import Progress
from elmo_keras.training.run import TrainingRun
from elmo_keras.training.streams import Streams
from elmo_keras.util.command import CommandFailed
from elmo_keras.util.fingerprint import installed_version
from elmo_keras.util.markdown_table import markdown_table

MANY_UNKNOWN = 0.5  # share of the training text
_PACKAGES = ("elmo-keras", "tensorflow", "keras", "numpy")


def describe_inputs(inputs: Inputs, streams: Streams) -> str:
    """Lines about the texts and the sizes of the model, and warnings."""
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
    return "\n".join([*lines, *remarks(train, streams)])


def remarks(text: TextStatistics, streams: Streams) -> list[str]:
    """Lines about what is allowed, but hardly intended, in the training text."""
    found = []
    if text.unknown > MANY_UNKNOWN:
        found.append(
            f"Warning: {text.unknown:.0%} of the training text is <UNK>, which is easy "
            "to predict: the perplexity will look better than the model is."
        )
    n_predictions, rows = streams.corpus.n_predictions, streams.n_rows
    if rows * streams.unroll_steps > n_predictions:
        found.append(
            f"Warning: a batch of {rows:,} rows of {streams.unroll_steps} tokens is "
            f"larger than the training text, which has {n_predictions:,} tokens and "
            "sentence ends: part of each batch is empty. Give a lower --batch-size."
        )
    return found


def beginning(progress: Progress, limits: Limits, checkpoint: Path) -> str:
    reached = limits.reached(progress)
    if not reached:
        return f"Resuming from step {progress.step:,}, {checkpoint}"
    limits = " and ".join(f"--{name} {limit}" for name, limit in reached.items())
    return (
        f"Training is finished: {checkpoint} has reached {limits}. To continue, give a "
        f"higher {' and '.join(f'--{name}' for name in reached)}."
    )


def result(progress: Progress, finished: bool) -> str:
    """Lines with both perplexities and their ratio, or the step of the interruption."""
    if not finished:
        step = progress.step
        return f"Interrupted at step {step:,}. The same command resumes there."
    before, after = progress.evaluations()[0], progress.best_evaluation()
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
    """What a model was trained on, how, and how good it is, in Markdown."""
    progress, reference = run.progress, ["Python's language reference"]
    train, valid = run.inputs.statistics
    texts = [
        f"- Training ({', '.join(data.train or reference)}): {train}",
        f"- Held-out ({', '.join(data.valid or reference)}): {valid}",
    ]
    options = [(name, f"`{json.dumps(v)}`") for name, v in run.metadata.items()]
    sections = {
        "Held-out perplexity (full softmax)": _perplexity(progress),
        "Text": "\n".join(texts),
        "Vocabulary": (
            f"{run.streams.vocabulary_size:,} words, SHA-256 "
            f"`{run.metadata['vocabulary']}`"
        ),
        "Training": _training(run),
        "Held-out perplexity during training": _evaluations(progress),
        "Options": markdown_table(("option", "value"), options),
        "Versions": _versions(),
    }
    parts = [f"## {title}\n\n{content}\n" for title, content in sections.items()]
    title = f"# ELMo biLM, {run.bilm.count_params():,} parameters\n"
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
    found = [f"{p} {installed_version(p) or '(not installed)'}" for p in _PACKAGES]
    day = datetime.date.today().isoformat()
    return f"{', '.join(found)}; Python {platform.python_version()}; {day}"
