"""Nearest neighbours in context: which uses of a word a biLM holds for alike."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from elmo_keras.corpus import Corpus
from elmo_keras.elmo import Elmo

SENTENCES_AT_ONCE = 64


class Occurrence(NamedTuple):
    """One use of a word: its sentence, and its position there."""

    sentence: Sequence[str]
    position: int

    def excerpt(self, width: int = 5) -> str:
        """The word with up to `width` tokens on either side."""
        first = max(0, self.position - width)
        before = self.sentence[first : self.position]
        behind = self.sentence[self.position + 1 : self.position + 1 + width]
        return " ".join([*before, f"[{self.sentence[self.position]}]", *behind])


def occurrences(corpus: Corpus, word: str, most: int | None = None) -> list[Occurrence]:
    """The uses of a word in a corpus, the first so many if `most` is given."""
    if word not in corpus.words:
        return []
    places = np.flatnonzero(corpus.tokens == corpus.words.index(word))[:most]
    sentences = np.searchsorted(corpus.ends, places, side="right")
    return [
        Occurrence(
            [corpus.words[t] for t in corpus.sentence(i)],
            int(place - (corpus.ends[i - 1] if i else 0)),
        )
        for i, place in zip(sentences, places)
    ]


def context_vectors(elmo: Elmo, uses: Sequence[Occurrence]) -> np.ndarray:
    """The vector of the last biLM layer at each use, `(uses, 2 · projection_dim)`.

    The last layer is the one that tells the senses of a word apart best (Peters
    et al. 2018, Table 5).
    """
    vectors = []
    for first in range(0, len(uses), SENTENCES_AT_ONCE):
        some = uses[first : first + SENTENCES_AT_ONCE]
        tokens = tf.ragged.constant([list(use.sentence) for use in some])
        last = elmo.layers(tokens)[:, -1]
        vectors.append(
            tf.gather(last, [use.position for use in some], batch_dims=1).numpy()
        )
    return np.concatenate(vectors)


def nearest(vectors: np.ndarray, query: int) -> tuple[np.ndarray, np.ndarray]:
    """The other rows of `vectors` by falling cosine to row `query`.

    Returns:
        Their numbers `(rows − 1,)` and cosines `(rows − 1,)`.
    """
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit[query]
    order = np.argsort(-cosines, kind="stable")
    order = order[order != query]
    return order, cosines[order]
