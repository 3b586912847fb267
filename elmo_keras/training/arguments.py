"""The command line of the training program, and the options that it becomes."""

import argparse
import dataclasses
from pathlib import Path

from elmo_keras.config import PRESETS
from elmo_keras.training.options import (
    SCHEDULES,
    SLOTS,
    ZERO_STATE_SHARE,
    Limits,
    RunSettings,
    TextData,
    TrainingOptions,
)
from elmo_keras.util.argument_types import non_negative, positive, rate, seed, share
from elmo_keras.util.command import command_parser

# Defaults for Python's language reference, which is a small text.
EXAMPLE = {"n_epochs": 14, "batch_size": 32, "learning_rate": 0.1}
CHANGES = "max_characters_per_token", "cut_at", "unicode_normalization"


def parser(description: str) -> argparse.ArgumentParser:
    p = command_parser("train.py", description)
    flag = {"action": "store_true"}

    add = p.add_argument_group("text").add_argument
    add("--train", nargs="+", metavar="PATTERN", help="text files, plain or gzipped")
    add("--valid", nargs="+", metavar="PATTERN", help="held-out text files")
    split = "split paragraphs into sentences and tokens with tensorflow-text"
    add("--raw-text", **flag, help=split)
    add("--vocabulary", type=Path, metavar="FILE", help="a vocab.txt to use")
    further = "further text whose words are counted"
    add("--vocabulary-text", nargs="+", metavar="PATTERN", help=further)
    add("--vocabulary-size", type=positive(int), help="maximum number of words")
    add("--min-count", type=positive(int), help="rarer words are <UNK> (default: 2)")

    add = p.add_argument_group("model").add_argument
    add("--output", default="model", metavar="MODEL_DIR", type=Path)
    sizes = "sizes of a new model (default: tiny)"
    add("--preset", choices=sorted(PRESETS), help=sizes)
    add("--max-characters-per-token", type=positive(int), help="longer words are cut")
    add("--cut-at", choices=["byte", "character"])
    add("--unicode-normalization", choices=["NFC"])

    group = p.add_argument_group("fine-tuning")
    start = group.add_mutually_exclusive_group().add_argument
    models = (
        "a model directory, a zip, a checkpoint of bilm-tf, or a published model's "
        "name or address"
    )
    start("--init", metavar="MODEL", help=models)
    published = "published options.json, with --weights"
    start("--options", dest="published_options", metavar="FILE", help=published)
    add = group.add_argument
    add("--weights", metavar="FILE", help="published HDF5 weights")
    new = "make a new softmax for the words of the new text"
    add("--new-softmax", **flag, help=new)
    alone = "steps that train only the new softmax first (default: 500)"
    add("--warm-up", type=non_negative(int), metavar="STEPS", help=alone)

    add = p.add_argument_group("training").add_argument
    add("--epochs", dest="n_epochs", type=positive(int), metavar="EPOCHS")
    steps = {"type": positive(int), "metavar": "STEPS"}
    add("--steps", dest="n_steps", **steps, help="maximum number of steps")
    row = "maximum number in a row without a lower perplexity"
    add("--patience", type=positive(int), metavar="EVALUATIONS", help=row)
    add("--checkpoint-every", default=500, **steps)
    add("--evaluate-every", **steps)

    state = p.add_argument_group("LSTM state").add_mutually_exclusive_group()
    add, of_share = state.add_argument, {"dest": "zero_state_share"}
    zero = (
        "probability that a sentence is read from the zero state, as Elmo reads it, "
        f"and not from where the one before ended (default: {ZERO_STATE_SHARE})"
    )
    add("--zero-state", **of_share, type=share, metavar="SHARE", help=zero)
    carried = (
        "always carry the LSTM state over, as bilm-tf does; the perplexity with the "
        "state carried over chooses the model"
    )
    add("--published-state", **of_share, action="store_const", const=0.0, help=carried)

    add = p.add_argument_group("updates").add_argument
    number = {"type": positive(int), "metavar": "N"}
    add("--seed", default=0, type=seed)
    add("--batch-size", **number, help="rows of text per replica")
    add("--unroll-steps", **number, help="tokens of each row in a step")
    negatives = "negatives of the sampled softmax"
    add("--negatives", dest="n_negative_samples_batch", **number, help=negatives)
    add("--full-softmax", dest="sample_softmax", action="store_false")
    add("--dropout", type=rate)
    norm = {"dest": "all_clip_norm_val", "type": positive(float), "metavar": "NORM"}
    add("--clip-norm", **norm)
    add("--optimizer", default="adagrad", choices=sorted(SLOTS))
    add("--learning-rate", type=positive(float))
    add("--schedule", default="constant", choices=SCHEDULES)
    add("--dtype", default="float32", choices=["float32", "mixed_bfloat16"])
    gpus = "replicas on this machine (default: all GPUs)"
    add("--replicas", **number, help=gpus)
    parts = (
        "parts of a batch, computed one after another (gradient accumulation): same "
        "update, less memory"
    )
    add("--parts", default=1, **number, help=parts)

    add = p.add_argument_group("other").add_argument
    add("--dry-run", **flag, help="only print the cost")
    add("--evaluate", **flag, help="only print the perplexity of --output")
    similar = "print similar uses of this word at the end"
    add("--neighbors", metavar="WORD", help=similar)
    return p


def data_of(given: argparse.Namespace) -> TextData:
    if given.evaluate and not given.valid:
        raise ValueError("--evaluate needs the text of --valid.")
    if bool(given.train) != bool(given.valid) and not given.evaluate:
        raise ValueError("--train and --valid should be given together.")
    return TextData(**_fields(TextData, given))


def settings_of(given: argparse.Namespace) -> RunSettings:
    if (given.published_options is None) != (given.weights is None):
        raise ValueError("--options and --weights should be given together.")
    init = given.init or given.published_options
    changes = {name: getattr(given, name) for name in CHANGES}
    changes = {name: value for name, value in changes.items() if value is not None}
    if init and (given.preset or changes):
        surplus = "preset" if given.preset else min(changes).replace("_", "-")
        raise ValueError(
            "The model to start from fixes the sizes and the characters. Leave out "
            f"--{surplus}."
        )
    options = {} if given.train else EXAMPLE
    options = TrainingOptions(**options | _fields(TrainingOptions, given))
    known = {"options": options, "init": init, "changes": changes}
    return RunSettings(**_fields(RunSettings, given) | known)


def limits_of(given: argparse.Namespace, options: TrainingOptions) -> Limits:
    """The limits; without --epochs and --steps, the epochs of the options."""
    n_epochs = given.n_epochs if given.n_steps else options.n_epochs
    return Limits(**_fields(Limits, given) | {"n_epochs": n_epochs})


def _fields(options, given):
    names = [field.name for field in dataclasses.fields(options)]
    values = {name: getattr(given, name, None) for name in names}
    return {name: value for name, value in values.items() if value is not None}
