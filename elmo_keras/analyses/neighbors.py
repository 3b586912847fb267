"""Similar uses of a word."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from elmo_keras.embed.embedder import Embedder
from elmo_keras.text.corpus import Corpus


class Occurrence(NamedTuple):
    sentence: Sequence[str]
    position: int

    def excerpt(self) -> str:
        """The word with up to 5 tokens on either side."""
        before = self.sentence[max(0, self.position - 5) : self.position]
        after = self.sentence[self.position + 1 : self.position + 6]
        return " ".join([*before, f"[{self.sentence[self.position]}]", *after])


def occurrences(
    corpus: Corpus, word: str, limit: int | None = None
) -> list[Occurrence]:
    """The uses of a word in a corpus, or the first `limit` of them."""
    if word not in corpus.words:
        return []
    indices = np.flatnonzero(corpus.tokens == corpus.words.index(word))[:limit]
    sentences = np.searchsorted(corpus.ends, indices, side="right")
    return [
        Occurrence(
            [corpus.words[t] for t in corpus.sentence(i)],
            int(index - (corpus.ends[i - 1] if i else 0)),
        )
        for i, index in zip(sentences, indices)
    ]


def context_vectors(embedder: Embedder, uses: Sequence[Occurrence]) -> np.ndarray:
    """The vector of the word at each use, `(uses, 2 · projection_dim)`."""
    sentences = embedder.stream([use.sentence for use in uses])
    return np.stack([tokens[u.position] for tokens, u in zip(sentences, uses)])


def print_uses(uses: Sequence[Occurrence], vectors: np.ndarray, top: int) -> None:
    """Prints the uses nearest to the first one, and to the one least similar to it."""
    for query in (0, nearest(vectors, 0)[0][-1]):
        print(f"  Nearest to {uses[query].excerpt()}")
        for other, cosine in list(zip(*nearest(vectors, query)))[:top]:
            print(f"     {cosine:6.3f} {uses[other].excerpt()}")


def nearest(vectors: np.ndarray, query: int) -> tuple[np.ndarray, np.ndarray]:
    """The other rows of `vectors` in descending order of their cosine to row `query`."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit[query]
    order = np.argsort(-cosines, kind="stable")
    order = order[order != query]
    return order, cosines[order]
