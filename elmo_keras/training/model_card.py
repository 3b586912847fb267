"""The model card: what a model was trained on, how, and how good it is."""

import datetime
import json
import platform

from elmo_keras.cli.fingerprint import installed_version
from elmo_keras.cli.markdown_table import markdown_table
from elmo_keras.text.corpus import TextStatistics
from elmo_keras.training.held_out import HeldOutPerplexity
from elmo_keras.training.run import TrainingRun

_PACKAGES = ("elmo-keras", "tensorflow", "keras", "numpy")


def model_card(
    run: TrainingRun,
    texts: dict[str, tuple[list[str], TextStatistics]],
    best: HeldOutPerplexity | None,
) -> str:
    """A model card in Markdown.

    Args:
        run: the finished run.
        texts: name of a text → the names of its files, and its statistics.
        best: held-out perplexity of the weights that were kept, or None.
    """
    progress = run.progress
    sections = {
        "Held-out perplexity (full softmax)": _perplexity(run, best),
        "Text": "\n".join(_text(name, *text) for name, text in texts.items()),
        "Vocabulary": (
            f"{run.streams.vocabulary_size:,} words, SHA-256 "
            f"`{run.identity['vocabulary']}`"
        ),
        "Training": _training(run),
        "Held-out perplexity during training": _evaluations(progress),
        "Options": markdown_table(
            ("option", "value"),
            [(k, f"`{json.dumps(v)}`") for k, v in run.identity.items()],
        ),
        "Versions": _versions(),
    }
    parts = [f"## {title}\n\n{content}\n" for title, content in sections.items()]
    title = f"# ELMo biLM, {run.bilm.count_params():,} parameters\n"
    return "\n".join([title, *parts])


def _perplexity(run, best):
    if best is None:
        return "Not evaluated yet"
    chosen = "first" if run.progress.chosen_by == "zero" else "second"
    return (
        f"- each sentence from the zero state, as `Elmo` reads it: {best.zero}\n"
        "- state carried over from sentence to sentence, as in published perplexities: "
        f"{best.carried or 'not measured'}\n\n"
        f"The {chosen} mean chose the weights."
    )


def _evaluations(progress):
    heads = "forward", "backward", "carried: forward", "carried: backward"
    rows = []
    for (tokens, *_), found in zip(progress.held_out, progress.evaluations()):
        numbers = [f"{x:.1f}" for x in (*found.zero, *(found.carried or ()))]
        rows.append((f"{tokens:,}", *numbers, *[""] * (len(heads) - len(numbers))))
    return markdown_table(("tokens read", *heads), rows)


def _text(name: str, files: list[str], found: TextStatistics) -> str:
    return f"- {name} ({', '.join(files)}): {found}"


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
