"""The command line of the training program, and its parsed form."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from elmo_keras.cli.argument_types import (
    non_negative,
    positive,
    rate,
    seed,
    share,
)
from elmo_keras.cli.command import command_parser
from elmo_keras.config import PRESETS
from elmo_keras.training.inputs import StartingPoint, TextFiles, VocabularySource
from elmo_keras.training.optimizers import OPTIMIZERS, SCHEDULES
from elmo_keras.training.options import (
    ZERO_STATE_SHARE,
    Limits,
    RunSettings,
    TrainingOptions,
)

# Defaults for Python's language reference, which is a small text.
EXAMPLE = {"n_epochs": 14, "batch_size": 32, "learning_rate": 0.1}


def parser(description: str) -> argparse.ArgumentParser:
    """The parser of the command line."""
    p = command_parser("train.py", description)
    for title, add in _GROUPS.items():
        add(p.add_argument_group(title).add_argument)
    return p


def _text(add):
    add("--train", nargs="+", metavar="PATTERN", help="text files, plain or gzipped")
    add("--valid", nargs="+", metavar="PATTERN", help="held-out text files")
    add(
        "--raw-text",
        action="store_true",
        help="split paragraphs into sentences and tokens with tensorflow-text",
    )
    add("--vocabulary", type=Path, metavar="FILE", help="a vocab.txt to use")
    add(
        "--vocabulary-text",
        nargs="+",
        metavar="PATTERN",
        help="further text whose words are counted",
    )
    add("--vocabulary-size", type=positive(int), help="maximum number of words")
    add("--min-count", type=positive(int), help="rarer words are <UNK> (default: 2)")


def _model(add):
    add("--output", default="model", metavar="MODEL_DIR", type=Path)
    add(
        "--preset", choices=sorted(PRESETS), help="sizes of a new model (default: tiny)"
    )
    add("--max-characters-per-token", type=positive(int), help="longer words are cut")
    add("--cut-at", choices=["byte", "character"])
    add("--unicode-normalization", choices=["NFC"])


def _fine_tuning(add):
    add(
        "--init",
        metavar="MODEL",
        help="a model directory, a zip, a checkpoint of bilm-tf, or a published "
        "model's name or address",
    )
    add(
        "--options",
        metavar="FILE",
        help="published options.json, with --weights",
    )
    add("--weights", metavar="FILE", help="published HDF5 weights")
    add(
        "--new-softmax",
        action="store_true",
        help="make a new softmax for the words of the new text",
    )
    add(
        "--warm-up",
        type=non_negative(int),
        metavar="STEPS",
        help="steps that train only the new softmax first (default: 500)",
    )


def _training(add):
    add("--epochs", type=positive(int))
    add("--steps", type=positive(int), help="maximum number of steps")
    add(
        "--patience",
        type=positive(int),
        metavar="EVALUATIONS",
        help="maximum number in a row without a lower perplexity",
    )
    add("--checkpoint-every", default=500, type=positive(int), metavar="STEPS")
    add("--evaluate-every", type=positive(int), metavar="STEPS")


def _state(add):
    add(
        "--zero-state",
        type=share,
        metavar="SHARE",
        help="probability that a sentence is read from the zero state, as Elmo reads "
        f"it, and not from where the one before ended (default: {ZERO_STATE_SHARE})",
    )
    add(
        "--published-state",
        action="store_true",
        help="always carry the LSTM state over, as bilm-tf does; the perplexity with "
        "the state carried over chooses the model",
    )


def _updates(add):
    add("--seed", default=0, type=seed)
    add("--batch-size", type=positive(int), help="rows of text per replica")
    add("--unroll-steps", type=positive(int), help="tokens of each row in a step")
    add("--negatives", type=positive(int), help="negatives of the sampled softmax")
    add("--full-softmax", action="store_true")
    add("--dropout", type=rate)
    add("--clip-norm", type=positive(float))
    add("--optimizer", default="adagrad", choices=sorted(OPTIMIZERS))
    add("--learning-rate", type=positive(float))
    add("--schedule", default="constant", choices=SCHEDULES)
    add("--dtype", default="float32", choices=["float32", "mixed_bfloat16"])
    add(
        "--replicas",
        type=positive(int),
        help="replicas on this machine (default: all GPUs)",
    )
    add(
        "--parts",
        default=1,
        type=positive(int),
        help="parts of a batch, computed one after another: same update, less memory",
    )


def _other(add):
    add("--dry-run", action="store_true", help="only print the cost")
    add("--evaluate", action="store_true", help="only print the perplexity of --output")
    add(
        "--neighbors", metavar="WORD", help="print similar uses of this word at the end"
    )


_GROUPS = {
    "text": _text,
    "model": _model,
    "fine-tuning": _fine_tuning,
    "training": _training,
    "LSTM state": _state,
    "updates": _updates,
    "other": _other,
}


class TrainingCommand(NamedTuple):
    """The parsed command line, with one value for each part of the program.

    Attributes:
        output: the model directory.
        evaluate: whether only the perplexity of `output` is wanted.
        dry_run: whether only the cost is wanted.
        replicas: number of replicas on this machine, or None for all GPUs.
        neighbors: word whose uses are shown at the end, or None.
        text, words, start: arguments of `read_inputs`.
        settings: how updates are computed.
        limits: when training ends, evaluates and writes checkpoints.
    """

    output: Path
    evaluate: bool
    dry_run: bool
    replicas: int | None
    neighbors: str | None
    text: TextFiles
    words: VocabularySource
    start: StartingPoint
    settings: RunSettings
    limits: Limits


def parse_command(
    description: str, arguments: Sequence[str] | None = None
) -> TrainingCommand:
    """Parses the command line.

    Raises:
        ValueError: arguments contradict each other.
    """
    given = parser(description).parse_args(arguments)
    options = _options(given)
    return TrainingCommand(
        output=given.output,
        evaluate=given.evaluate,
        dry_run=given.dry_run,
        replicas=given.replicas,
        neighbors=given.neighbors,
        text=_text_files(given),
        words=VocabularySource(
            file=given.vocabulary,
            text=given.vocabulary_text,
            max_size=given.vocabulary_size,
            min_count=given.min_count,
        ),
        start=_starting_point(given),
        settings=_settings(given, options),
        limits=_limits(given, options),
    )


def _text_files(given):
    if given.evaluate and not given.valid:
        raise ValueError("--evaluate needs the text of --valid.")
    if bool(given.train) != bool(given.valid) and not given.evaluate:
        raise ValueError("--train and --valid should be given together.")
    return TextFiles(train=given.train, valid=given.valid, raw_text=given.raw_text)


def _starting_point(given):
    if (given.options is None) != (given.weights is None):
        raise ValueError("--options and --weights should be given together.")
    if given.init and given.options:
        raise ValueError("--init and --options should not be given together.")
    names = "max_characters_per_token", "cut_at", "unicode_normalization"
    changes = {name: getattr(given, name) for name in names}
    changes = {name: value for name, value in changes.items() if value is not None}
    model = given.init or given.options
    if model and (given.preset or changes):
        surplus = "preset" if given.preset else min(changes).replace("_", "-")
        raise ValueError(
            "The model to start from fixes the sizes and the characters. Leave out "
            f"--{surplus}."
        )
    return StartingPoint(
        model=model,
        weights=given.weights,
        preset=given.preset,
        changes=changes,
        new_softmax=given.new_softmax,
        warm_up_steps=given.warm_up,
    )


def _options(given):
    """The given options; by default the published ones, or the example text's."""
    options = {
        "n_epochs": given.epochs,
        "batch_size": given.batch_size,
        "unroll_steps": given.unroll_steps,
        "n_negative_samples_batch": given.negatives,
        "learning_rate": given.learning_rate,
        "dropout": given.dropout,
        "all_clip_norm_val": given.clip_norm,
        "sample_softmax": False if given.full_softmax else None,
    }
    options = {name: value for name, value in options.items() if value is not None}
    return TrainingOptions(**({} if given.train else EXAMPLE) | options)


def _settings(given, options):
    if given.zero_state and given.published_state:
        raise ValueError(
            "--zero-state and --published-state should not be given together."
        )
    return RunSettings(
        options=options,
        seed=given.seed,
        zero_state_share=0.0 if given.published_state else given.zero_state,
        optimizer=given.optimizer,
        schedule=given.schedule,
        dtype=given.dtype,
        n_parts=given.parts,
    )


def _limits(given, options):
    return Limits(
        n_epochs=given.epochs if given.steps else options.n_epochs,
        n_steps=given.steps,
        patience=given.patience,
        checkpoint_every=given.checkpoint_every,
        evaluate_every=given.evaluate_every,
    )
