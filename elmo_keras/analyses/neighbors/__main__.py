"""Prints the nearest neighbours of words and of their uses: the paper's Table 4.

    python -m elmo_keras.analyses.neighbors FILE --elmo MODEL --words play bank

FILE holds one sentence a line, tokens separated by spaces. A word by itself is compared
by its context-independent vector, with one list of nearest words. Its uses are compared
by the last layer of the biLM, each with a list of its own; two are shown, the first one
in FILE and the one least similar to it.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from elmo_keras.analyses.neighbors.occurrences import (
    Occurrence,
    context_vectors,
    contrasting_neighbors,
    nearest,
    occurrences,
)
from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import command_parser, run_command
from elmo_keras.elmo import Elmo
from elmo_keras.models.local_files import MODEL_HELP
from elmo_keras.text.corpus import Corpus
from elmo_keras.text.files import read_sentences

PROGRAM = "elmo_keras.analyses.neighbors"
WORDS_AT_ONCE = 1024
MAX_WORDS = 20_000  # the most frequent ones are candidates


def parser() -> argparse.ArgumentParser:
    p = command_parser(PROGRAM, __doc__)
    add = p.add_argument
    add("file", type=Path, metavar="FILE", help="plain or gzipped text")
    add("--elmo", required=True, metavar="MODEL", help=MODEL_HELP)
    add("--words", required=True, nargs="+", metavar="WORD")
    add("--top", type=positive(int), default=3, help="length of a list (default: 3)")
    add("--most", type=positive(int), default=1000, help="uses of a word to compare")
    return p


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    return run_command(PROGRAM, lambda: neighbors(options))


def neighbors(options: argparse.Namespace) -> None:
    """Prints the neighbours of each word."""
    corpus = Corpus.of(read_sentences([str(options.file)]))
    uses = {w: occurrences(corpus, w, options.most) for w in options.words}
    for word, found in uses.items():
        if len(found) < 2:
            raise ValueError(
                f"{word} occurs {len(found)} times in {options.file}. Two uses are "
                "needed to compare them."
            )
    elmo = Elmo.from_pretrained(options.elmo)
    candidates = frequent_words(corpus, options.words)
    vectors, contexts = word_vectors(elmo, candidates), use_vectors(elmo, uses)
    for word in options.words:
        others, cosines = nearest(vectors, candidates.index(word))
        shown = zip(others[: options.top], cosines)
        shown = [f"{candidates[i]} {cosine:.3f}" for i, cosine in shown]
        print(f"\n{word}: {', '.join(shown)}")
        print_uses(uses[word], contexts[word], options.top)


def frequent_words(corpus: Corpus, words: list[str]) -> list[str]:
    """The most frequent words of a text, and `words`."""
    counts = corpus.counts()
    order = np.argsort(-counts, kind="stable")[:MAX_WORDS]
    frequent = [corpus.words[i] for i in order if counts[i]]
    return list(dict.fromkeys([*frequent, *words]))


def word_vectors(elmo: Elmo, words: list[str]) -> np.ndarray:
    """Context-independent vectors: `(words, projection_dim)`."""
    words = tf.constant(words)
    parts = range(0, len(words), WORDS_AT_ONCE)
    return np.concatenate(
        [elmo.bilm.word_vectors(words[i : i + WORDS_AT_ONCE]).numpy() for i in parts]
    )


def use_vectors(
    elmo: Elmo, uses: Mapping[str, list[Occurrence]]
) -> dict[str, np.ndarray]:
    """The `context_vectors` of each word's uses."""
    vectors = context_vectors(elmo, sum(uses.values(), []))
    ends = np.cumsum([len(of_word) for of_word in uses.values()])
    return dict(zip(uses, np.split(vectors, ends[:-1])))


def print_uses(uses: Sequence[Occurrence], vectors: np.ndarray, top: int) -> None:
    """Prints the uses nearest to the first one, and to the one least similar to it."""
    for query, found in contrasting_neighbors(vectors, top):
        print(f"  Nearest to {uses[query].excerpt()}")
        for other, cosine in found:
            print(f"     {cosine:6.3f} {uses[other].excerpt()}")


if __name__ == "__main__":
    sys.exit(main())
