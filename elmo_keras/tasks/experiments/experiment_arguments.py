"""The options that the commands of all tasks share."""

import argparse
from pathlib import Path

from elmo_keras.tasks.experiments.variants import Variant
from elmo_keras.tasks.models.token_vectors import PLACES
from elmo_keras.training_arguments import positive, rate, seed


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """The command line of the task with this name."""
    p = argparse.ArgumentParser(
        prog=f"python -m elmo_keras.tasks.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_data(p.add_argument_group("data").add_argument)
    _add_elmo(p.add_argument_group("ELMo").add_argument)
    _add_training(p.add_argument_group("training").add_argument)
    return p


def _add_data(add):
    add("--train", type=Path, required=True, metavar="FILE")
    add("--dev", type=Path, metavar="FILE", help="decides when training ends")
    add("--test", type=Path, metavar="FILE", help="is scored with the best weights")
    add(
        "--dev-share",
        type=share,
        default=0.2,
        help="without --dev, so much of --train is held out (default: 0.2)",
    )
    add("--limit", type=positive(int), metavar="N", help="first N training examples")
    add(
        "--share",
        type=share,
        default=1.0,
        help="random share of the training examples, another one for each seed",
    )
    add(
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="gets results.json and the models; runs that are there are not made again",
    )


def _add_elmo(add):
    usual = Variant()
    add(
        "--elmo",
        type=Path,
        action="append",
        default=[],
        metavar="MODEL_DIR",
        help="trained biLM, again for each one to compare; none for the baseline",
    )
    add("--baseline", action="store_true", help="the baseline as well")
    add("--elmo-at", choices=PLACES, default=usual.elmo_at, help="where it is put")
    add(
        "--scheme",
        type=_scheme,
        default=usual.scheme,
        help="the mix of the layers: learned (default), average, top, 0, 1, …",
    )
    add("--l2", type=_not_negative, default=usual.l2, metavar="λ", help="on the mix")
    add("--elmo-dropout", type=rate, default=usual.elmo_dropout)
    add("--fine-tune", action="store_true", help="train the biLM as well")
    add("--no-cache", action="store_true", help="compute a frozen biLM in every epoch")


def _add_training(add):
    add("--seeds", type=seed, nargs="+", default=[1])
    add("--epochs", type=positive(int), default=50, help="at most")
    add(
        "--patience",
        type=positive(int),
        default=5,
        help="epochs without a better score on dev before training ends",
    )
    add("--batch-size", type=positive(int), default=32)
    add("--learning-rate", type=positive(float), default=1e-3)
    add("--dropout", type=rate, default=0.5, help="on word and character vectors")
    add("--word-dim", type=positive(int), default=100)
    add("--character-dim", type=positive(int), default=64)


def variants(arguments: argparse.Namespace) -> list[Variant]:
    """What is asked for: the baseline, and ELMo with each biLM.

    Raises:
        ValueError: two biLMs have the same name.
    """
    given = [
        Variant(
            elmo,
            arguments.elmo_at,
            arguments.scheme,
            arguments.l2,
            arguments.elmo_dropout,
            arguments.fine_tune,
            arguments.share,
        )
        for elmo in arguments.elmo
    ]
    if arguments.baseline or not given:
        given.insert(0, Variant(share=arguments.share))
    names = [variant.name for variant in given]
    if len(set(names)) < len(names):
        raise ValueError(
            "The folders of --elmo should have different names, as results go by them. "
            f"Received: {' '.join(map(str, arguments.elmo))}"
        )
    return given


def _scheme(text):
    if text in ("learned", "average", "top"):
        return text
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(
            f"should be learned, average, top or the number of a layer, not {text}"
        )
    return int(text)


def share(text):
    """An argparse type: a share of the data."""
    if not 0 < float(text) <= 1:
        raise argparse.ArgumentTypeError(f"should be above 0, at most 1, not {text}")
    return float(text)


share.__name__ = "float"


def _not_negative(text):
    if not 0 <= float(text) < float("inf"):
        raise argparse.ArgumentTypeError(f"should be 0 or more, not {text}")
    return float(text)


_not_negative.__name__ = "float"
