"""Shows what is nearest to a word by itself, and to its uses: the paper's Table 4.

    python -m elmo_keras.tasks.neighbors FILE --elmo MODEL_DIR --words play bank

FILE holds one sentence a line, tokens separated by spaces. By itself a word has its
context-independent vector, and one list of nearest words; in context, by the last layer
of the biLM, each use has a list of its own. Two uses are shown, the first one in FILE
and the one least like it.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

from elmo_keras.corpus import Corpus
from elmo_keras.elmo import Elmo
from elmo_keras.neighbors import context_vectors, nearest, occurrences
from elmo_keras.tasks.analyses.analysis import run
from elmo_keras.text import read_sentences
from elmo_keras.training_arguments import positive

PROGRAM = "elmo_keras.tasks.neighbors"
WORDS_AT_ONCE = 1024
MOST_WORDS = 20_000  # the most frequent ones are candidates


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(
        prog=f"python -m {PROGRAM}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = p.add_argument
    add("file", type=Path, metavar="FILE", help="plain or gzipped text")
    add("--elmo", required=True, metavar="MODEL", help="a model directory or a zip")
    add("--words", required=True, nargs="+", metavar="WORD")
    add("--top", type=positive(int), default=3, help="how many (default: 3)")
    add("--most", type=positive(int), default=1000, help="uses that are compared")
    return p


def main(arguments=None) -> int:
    """Runs the program; returns its exit status."""
    arguments = parser().parse_args(arguments)
    return run(PROGRAM, lambda: neighbors(arguments))


def neighbors(arguments) -> int:
    """Prints the neighbours of each word: the exit status."""
    corpus = Corpus.of(read_sentences([str(arguments.file)]))
    uses = {w: occurrences(corpus, w, arguments.most) for w in arguments.words}
    for word, found in uses.items():
        if len(found) < 2:
            raise ValueError(
                f"{word} stands in {arguments.file} {len(found)} times. Two uses are "
                "needed to compare them."
            )
    elmo = Elmo.from_pretrained(arguments.elmo)
    candidates = frequent_words(corpus, arguments.words)
    vectors = word_vectors(elmo, candidates)
    for word in arguments.words:
        tell_words(word, candidates, vectors, arguments.top)
        tell_uses(elmo, uses[word], arguments.top)
    return 0


def frequent_words(corpus: Corpus, words: list[str]) -> list[str]:
    """The most frequent words of a text, and those asked for."""
    counts = corpus.counts()
    order = np.argsort(-counts, kind="stable")[:MOST_WORDS]
    frequent = [corpus.words[i] for i in order if counts[i]]
    return list(dict.fromkeys([*frequent, *words]))


def word_vectors(elmo: Elmo, words: list[str]) -> np.ndarray:
    """Context-independent vectors: `(words, projection_dim)`."""
    words = tf.constant(words)
    parts = range(0, len(words), WORDS_AT_ONCE)
    return np.concatenate(
        [elmo.bilm.word_vectors(words[i : i + WORDS_AT_ONCE]).numpy() for i in parts]
    )


def tell_words(word, candidates, vectors, top):
    """Prints the words nearest to a word by itself."""
    others, cosines = nearest(vectors, candidates.index(word))
    told = [f"{candidates[i]} {c:.3f}" for i, c in zip(others[:top], cosines)]
    print(f"\n{word}: {', '.join(told)}")


def tell_uses(elmo, uses, top):
    """Prints the uses nearest to the first one, and to the one least like it."""
    vectors = context_vectors(elmo, uses)
    least_alike = nearest(vectors, 0)[0][-1]
    for query in (0, least_alike):
        print(f"  Nearest to {uses[query].excerpt()}")
        for other, cosine in list(zip(*nearest(vectors, query)))[:top]:
            print(f"     {cosine:6.3f} {uses[other].excerpt()}")


if __name__ == "__main__":
    sys.exit(main())
