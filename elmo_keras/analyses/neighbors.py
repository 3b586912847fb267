"""The command `neighbors`."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from elmo_keras.config import Arithmetic
from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.word_vectors import WORDS_AT_ONCE
from elmo_keras.text.corpus import Corpus
from elmo_keras.text.files import read_sentences
from elmo_keras.util.arguments import Count, Texts
from elmo_keras.util.command import import_tensorflow

MAX_WORDS = 20_000  # the most frequent ones are candidates


class Occurrence(NamedTuple):
    sentence: Sequence[str]
    position: int

    def excerpt(self) -> str:
        """The word with up to 5 tokens on either side."""
        before = self.sentence[max(0, self.position - 5) : self.position]
        after = self.sentence[self.position + 1 : self.position + 6]
        return " ".join([*before, f"[{self.sentence[self.position]}]", *after])


def neighbors(
    file: str,
    /,
    *,
    model: str,
    words: Texts,
    arithmetic: Arithmetic | None = None,
    top: Count = 3,
    max_uses: Count = 1000,
) -> None:
    """Prints the nearest neighbours of words and of their uses: the paper's Table 4.

    FILE holds one sentence a line, tokens separated by spaces. A word by itself is compared
    by its context-independent vector, with one list of nearest words. Its uses are compared
    by the last layer of the biLM, each with a list of its own; two are shown, the first one
    in FILE and the one least similar to it. That tells apart senses of different parts of
    speech (to play, a play); the other words of a sentence tell more about two nouns (bank).

        elmo-keras neighbors FILE --model MODEL --words play bank

    Args:
        file: text, plain or gzipped
        model: a model directory, a zip, or a published model's name or address
        words: whose neighbours are printed
        arithmetic: float32 if not given; int8 is by LiteRT, on CPUs
        top: length of a list
        max_uses: of a word
    """
    corpus = Corpus.from_sentences(read_sentences([file]))
    uses = {word: occurrences(corpus, word, max_uses) for word in words}
    for word, of_word in uses.items():
        if len(of_word) < 2:
            raise ValueError(
                f"{word} occurs {len(of_word)} times in {file}. Two uses are needed "
                "to compare them."
            )
    if arithmetic != "int8":
        import_tensorflow()
    # The last layer distinguishes the senses of a word best (Peters et al., Table 5).
    embedder = Embedder(model, layers="top", arithmetic=arithmetic)
    candidates = frequent_words(corpus, words)
    vectors = word_vectors(embedder, candidates)
    for word in words:
        others, cosines = nearest(vectors, candidates.index(word))
        shown = zip(others[:top], cosines)
        shown = [f"{candidates[i]} {cosine:.3f}" for i, cosine in shown]
        print(f"\n{word}: {', '.join(shown)}")
        print_uses(uses[word], context_vectors(embedder, uses[word]), top)


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


def frequent_words(corpus: Corpus, words: Sequence[str]) -> list[str]:
    counts = corpus.counts()
    order = np.argsort(-counts, kind="stable")[:MAX_WORDS]
    frequent = [corpus.words[i] for i in order if counts[i]]
    return list(dict.fromkeys([*frequent, *words]))


def word_vectors(embedder: Embedder, words: Sequence[str]) -> np.ndarray:
    """Context-independent vectors: `(words, projection_dim)`."""
    encoded, compute = [word.encode() for word in words], embedder.engine.word_vectors
    starts = range(0, len(encoded), WORDS_AT_ONCE)
    return np.concatenate([compute(encoded[i : i + WORDS_AT_ONCE]) for i in starts])


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
