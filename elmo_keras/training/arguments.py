"""The command line of the training program."""

import argparse
import math
from pathlib import Path

from elmo_keras.config import PRESETS
from elmo_keras.optimizers import OPTIMIZERS, SCHEDULES
from elmo_keras.training import TrainingOptions

# For the text that comes with Python, which is small.
EXAMPLE = {"n_epochs": 14, "batch_size": 32, "learning_rate": 0.1}


def parser(description: str) -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for title, add in _GROUPS.items():
        add(p.add_argument_group(title).add_argument)
    return p


def _text(add):
    add("--train", nargs="+", metavar="PATTERN", help="to train on, plain or gzipped")
    add("--valid", nargs="+", metavar="PATTERN", help="held out")
    add(
        "--raw-text",
        action="store_true",
        help="split paragraphs into sentences and tokens with tensorflow-text",
    )
    add("--vocabulary", type=Path, metavar="FILE", help="one to use")
    add("--vocabulary-text", nargs="+", metavar="PATTERN", help="counted with --train")
    add("--vocabulary-size", type=positive(int), help="most words kept")
    add("--min-count", type=positive(int), help="rarer words are <UNK> (default: 2)")


def _model(add):
    add("--output", default="model", metavar="MODEL_DIR", type=Path)
    add("--preset", choices=sorted(PRESETS), help="sizes (default: tiny)")
    add("--max-characters-per-token", type=positive(int), help="longer words are cut")
    add("--cut-at", choices=["byte", "character"])
    add("--unicode-normalization", choices=["NFC"])


def _fine_tuning(add):
    add(
        "--init",
        type=Path,
        metavar="MODEL",
        help="a model directory, a zip, or a checkpoint of bilm-tf",
    )
    add("--options", type=Path, metavar="FILE", help="published options.json, and")
    add("--weights", type=Path, metavar="FILE", help="published HDF5 weights")
    add("--new-softmax", action="store_true", help="over the words of the new text")
    add("--warm-up", type=whole, metavar="STEPS", help="of a new softmax alone first")


def _training(add):
    add("--epochs", type=positive(int))
    add("--steps", type=positive(int), help="stop after so many")
    add("--patience", type=positive(int), metavar="EVALUATIONS", help="stop early")
    add("--seed", default=0, type=seed)
    add("--batch-size", type=positive(int), help="rows of a replica")
    add("--unroll-steps", type=positive(int), help="tokens of a row in a step")
    add("--negatives", type=positive(int), help="of the sampled softmax")
    add("--full-softmax", action="store_true")
    add("--dropout", type=rate)
    add("--clip-norm", type=positive(float))
    add("--optimizer", default="adagrad", choices=sorted(OPTIMIZERS))
    add("--learning-rate", type=positive(float))
    add("--schedule", default="constant", choices=SCHEDULES)
    add("--dtype", default="float32", choices=["float32", "mixed_bfloat16"])
    add("--replicas", type=positive(int), help="default: all GPUs")
    add(
        "--parts",
        default=1,
        type=positive(int),
        help="of a batch, gone through one by one: the same update in less memory",
    )
    add("--checkpoint-every", default=500, type=positive(int), metavar="STEPS")
    add("--evaluate-every", type=positive(int), metavar="STEPS")


def _other(add):
    add("--dry-run", action="store_true", help="only tell what it would take")
    add("--evaluate", action="store_true", help="only tell the perplexity of --output")
    add("--neighbors", metavar="WORD", help="show the uses of this word at the end")


_GROUPS = {
    "text": _text,
    "model": _model,
    "fine-tuning": _fine_tuning,
    "training": _training,
    "other": _other,
}


def positive(kind):
    """An argparse type: a number above 0."""

    def parse(text):
        number = kind(text)
        if not 0 < number < math.inf:
            raise argparse.ArgumentTypeError(f"should be above 0, not {text}")
        return number

    parse.__name__ = kind.__name__
    return parse


def whole(text):
    """An argparse type: a whole number from 0."""
    return 0 if text == "0" else positive(int)(text)


def rate(text):
    """An argparse type: a dropout rate."""
    if not 0 <= float(text) < 1:
        raise argparse.ArgumentTypeError(f"should be from 0 to below 1, not {text}")
    return float(text)


def seed(text):
    """An argparse type: a number that every generator takes."""
    if not 0 <= int(text) < 2**32:
        raise argparse.ArgumentTypeError(f"should be from 0 to 2**32 - 1, not {text}")
    return int(text)


def training_options(arguments) -> TrainingOptions:
    """The published ones, those of the example without text, or as given."""
    given = {
        "n_epochs": arguments.epochs,
        "batch_size": arguments.batch_size,
        "unroll_steps": arguments.unroll_steps,
        "n_negative_samples_batch": arguments.negatives,
        "learning_rate": arguments.learning_rate,
        "dropout": arguments.dropout,
        "all_clip_norm_val": arguments.clip_norm,
        "sample_softmax": False if arguments.full_softmax else None,
    }
    given = {name: value for name, value in given.items() if value is not None}
    return TrainingOptions(**({} if arguments.train else EXAMPLE) | given)
