"""Nearest neighbours in context: the uses of a word that a biLM finds similar."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from elmo_keras.elmo import Elmo
from elmo_keras.tasks.experiments.layer_cache import sentence_layers
from elmo_keras.text.corpus import Corpus


class Occurrence(NamedTuple):
    """One use of a word: its sentence, and its position there."""

    sentence: Sequence[str]
    position: int

    def excerpt(self, width: int = 5) -> str:
        """The word with up to `width` tokens on either side."""
        first = max(0, self.position - width)
        before = self.sentence[first : self.position]
        after = self.sentence[self.position + 1 : self.position + 1 + width]
        return " ".join([*before, f"[{self.sentence[self.position]}]", *after])


def occurrences(
    corpus: Corpus, word: str, limit: int | None = None
) -> list[Occurrence]:
    """The uses of a word in a corpus, or the first `limit` of them."""
    if word not in corpus.words:
        return []
    places = np.flatnonzero(corpus.tokens == corpus.words.index(word))[:limit]
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

    The last layer is the one that distinguishes the senses of a word best (Peters
    et al. 2018, Table 5).
    """
    vectors = np.zeros((len(uses), 2 * elmo.config.projection_dim), np.float32)
    for i, layers in sentence_layers(elmo, [use.sentence for use in uses]):
        vectors[i] = layers[-1, uses[i].position]
    return vectors


def contrasting_neighbors(
    vectors: np.ndarray, n: int
) -> list[tuple[int, list[tuple[int, float]]]]:
    """The n nearest rows of the first row, and of the row least similar to it."""
    queries = 0, nearest(vectors, 0)[0][-1]
    return [(query, list(zip(*nearest(vectors, query)))[:n]) for query in queries]


def nearest(vectors: np.ndarray, query: int) -> tuple[np.ndarray, np.ndarray]:
    """The other rows of `vectors` in descending order of their cosine to row `query`."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit[query]
    order = np.argsort(-cosines, kind="stable")
    order = order[order != query]
    return order, cosines[order]
