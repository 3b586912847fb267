"""Tells the senses of words apart by nearest neighbours: the paper's Table 5.

    python -m elmo_keras.tasks.senses --train A.tsv --test B.tsv --elmo MODEL_DIR

A use of a word gets the sense whose uses in training have the nearest mean vector.
Words that are not in training back off to their first sense, which is the most
frequent one in training: of the lemma with its part of speech, else of the lemma as
any other, else there is no answer, which counts as wrong. F1 is over all uses, so it
is the share that is right.
"""

import argparse
import sys

import numpy as np

from elmo_keras.elmo import Elmo
from elmo_keras.tasks.analyses.analysis import run, table
from elmo_keras.tasks.analyses.sense_vectors import (
    UNKNOWN,
    SenseInventory,
    average_senses,
    nearest_senses,
)
from elmo_keras.tasks.readers.semcor import read_semcor
from elmo_keras.training_arguments import positive

PROGRAM = "elmo_keras.tasks.senses"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(
        prog=f"python -m {PROGRAM}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = p.add_argument
    add("--train", required=True, metavar="FILE", help="word, lemma, tag, sense key")
    add("--test", required=True, metavar="FILE", help="the same")
    add("--elmo", required=True, metavar="MODEL", help="a model directory or a zip")
    add("--limit", type=positive(int), help="most sentences of either file")
    return p


def main(arguments=None) -> int:
    """Runs the program; returns its exit status."""
    arguments = parser().parse_args(arguments)
    return run(PROGRAM, lambda: senses(arguments))


def senses(arguments) -> int:
    """Prints the table: the exit status."""
    train, test = (
        read_semcor(path, arguments.limit) for path in (arguments.train, arguments.test)
    )
    for path, sentences in (arguments.train, train), (arguments.test, test):
        if not any(sentence.instances for sentence in sentences):
            raise ValueError(f"{path} holds no word with a sense.")
    elmo = Elmo.from_pretrained(arguments.elmo)
    inventory = SenseInventory(train)
    vectors = average_senses(elmo, train, inventory, verbose=1)
    predictions = nearest_senses(elmo, test, inventory, vectors, verbose=1)
    instances = [instance for sentence in test for instance in sentence.instances]
    first = np.array([[inventory.first_sense(i.word)] for i in instances])
    right = is_right(np.hstack([first, predictions]), instances, inventory)
    tell(right, first[:, 0], instances, inventory)
    return 0


def is_right(predictions, instances, inventory) -> np.ndarray:
    """Whether a sense is one of the instance's: bool `(instances, columns)`."""
    keys = [key for _, key in inventory.senses]
    keys.append("")  # of UNKNOWN
    return np.array(
        [
            [keys[sense] in instance.senses for sense in row]
            for row, instance in zip(predictions, instances)
        ]
    )


def tell(right, first, instances, inventory):
    """Prints the table and what its numbers are over."""
    n_senses = np.array([len(inventory.of(i.word)) for i in instances])
    several = n_senses > 1
    names = ["first sense", *(f"layer {i}" for i in range(right.shape[1] - 1))]
    rows = [
        (name, f"{100 * of_all:.1f}", f"{100 * of_several:.1f}")
        for name, of_all, of_several in zip(
            names, right.mean(axis=0), _mean(right[several])
        )
    ]
    print(table(("", "F1", "F1 where training has several senses"), rows))
    silent = first == UNKNOWN
    print(
        f"\n{len(instances):,} uses. Training has several senses of "
        f"{several.mean():.1%}, one of {(n_senses == 1).mean():.1%}; "
        f"{(n_senses == 0).mean():.1%} back off, {silent.mean():.1%} of all without "
        "an answer."
    )


def _mean(right):
    return right.mean(axis=0) if len(right) else np.full(right.shape[1], np.nan)


if __name__ == "__main__":
    sys.exit(main())
