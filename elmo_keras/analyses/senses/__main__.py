"""Disambiguates word senses by nearest neighbours: the paper's Table 5.

    python -m elmo_keras.analyses.senses --train A.tsv --test B.tsv --elmo MODEL

A use of a word gets the sense whose uses in training have the nearest mean vector.
Words that are not in training back off to their first sense, the most frequent sense of
the lemma as any other part of speech. If the lemma is not in training, there is no
answer, which counts as wrong. F1 is over all uses, and so it is the share that is right.
"""

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from elmo_keras.embed.embedder import Embedder
from elmo_keras.hub.local_files import ARITHMETIC, MODEL_HELP
from elmo_keras.util.argument_types import positive
from elmo_keras.util.command import command_parser, run_command
from elmo_keras.util.markdown_table import markdown_table

PROGRAM = "elmo_keras.analyses.senses"


def main(arguments: Sequence[str] | None = None) -> int:
    p = command_parser(PROGRAM, __doc__)
    add = p.add_argument
    add("--train", required=True, metavar="FILE", help="word, lemma, tag, sense key")
    add("--test", required=True, metavar="FILE", help="the same")
    add("--elmo", required=True, metavar="MODEL", help=MODEL_HELP)
    add("--arithmetic", **ARITHMETIC)
    limit = "first N sentences of each file"
    add("--limit", type=positive(int), metavar="N", help=limit)
    options = p.parse_args(arguments)
    return run_command(PROGRAM, lambda: senses(options))


def senses(options: argparse.Namespace) -> None:
    from elmo_keras.analyses.senses.semcor import read_semcor  # by Keras
    from elmo_keras.analyses.senses.sense_vectors import (
        UNKNOWN,
        SenseInventory,
        average_senses,
        nearest_senses,
    )

    train, test = (
        read_semcor(path, options.limit) for path in (options.train, options.test)
    )
    for path, sentences in (options.train, train), (options.test, test):
        if not any(sentence.instances for sentence in sentences):
            raise ValueError(f"{path} holds no word with a sense.")
    elmo = Embedder(options.elmo, layers="all", arithmetic=options.arithmetic)
    inventory = SenseInventory(train)
    vectors = average_senses(elmo, train, inventory)
    predictions = nearest_senses(elmo, test, inventory, vectors)
    instances = [instance for sentence in test for instance in sentence.instances]
    first = np.array([[inventory.first_sense(i.word)] for i in instances])
    keys = [*(key for _, key in inventory.senses), ""]  # the last one of UNKNOWN
    answers = zip(np.hstack([first, predictions]), instances)
    right = np.array([[keys[s] in i.senses for s in row] for row, i in answers])
    n_senses = np.array([len(inventory.of(i.word)) for i in instances])
    print(scores_table(right, n_senses))
    print(
        f"\n{len(instances):,} uses. Training has several senses of "
        f"{np.mean(n_senses > 1):.1%}, one of {np.mean(n_senses == 1):.1%}; "
        f"{np.mean(n_senses == 0):.1%} back off; {np.mean(first == UNKNOWN):.1%} of "
        "all have no answer."
    )


def scores_table(right: np.ndarray, n_senses: np.ndarray) -> str:
    """A row for the first sense and for each layer, from bool `(instances, 1 + layers)`."""
    names = ["first sense", *(f"layer {i}" for i in range(right.shape[1] - 1))]
    several = right[n_senses > 1]
    scores = [right.mean(axis=0)]
    scores.append(several.mean(axis=0) if len(several) else np.nan * scores[0])
    columns = [[f"{100 * score:.1f}" for score in column] for column in scores]
    head = "", "F1", "F1 where training has several senses"
    return markdown_table(head, list(zip(names, *columns)))


if __name__ == "__main__":
    sys.exit(main())
