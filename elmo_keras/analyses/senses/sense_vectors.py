"""Word senses as the mean vectors of their uses."""

import collections
from collections.abc import Sequence

import numpy as np

from elmo_keras.analyses.senses.semcor import Sentence
from elmo_keras.embed.embedder import Embedder

UNKNOWN = -1
# Beyond these digits, cosines differ only by rounding.
DIGITS = 5


class SenseInventory:
    """The senses of each word in training, the most frequent one first.

    A word is a lemma with its part of speech, a sense is a word with a key.
    """

    def __init__(self, training: Sequence[Sentence]):
        counts = collections.Counter(
            (instance.word, sense)
            for sentence in training
            for instance in sentence.instances
            for sense in instance.senses
        )
        self.senses = [sense for sense, _ in counts.most_common()]
        self.number = {sense: i for i, sense in enumerate(self.senses)}
        self.numbers = collections.defaultdict(list)  # word → its senses
        self.of_lemmas: dict[str, int] = {}  # lemma → most frequent sense of any word
        for i, (word, _) in enumerate(self.senses):
            self.numbers[word].append(i)
            self.of_lemmas.setdefault(word[0], i)

    def of(self, word: tuple[str, str]) -> list[int]:
        return self.numbers.get(word, [])

    def first_sense(self, word: tuple[str, str]) -> int:
        """The sense most frequent in training, of the word or else its lemma; or `UNKNOWN`."""
        own = self.of(word)
        return own[0] if own else self.of_lemmas.get(word[0], UNKNOWN)


def average_senses(
    embedder: Embedder, training: Sequence[Sentence], inventory: SenseInventory
) -> np.ndarray:
    """The mean vector of each sense's uses, float32 `(senses, layers, dim)`."""
    n_layers, _, dim = embedder.vectors.shape
    shape = len(inventory.senses), n_layers
    sums = np.zeros((*shape, dim), np.float32)
    counts = np.zeros((shape[0], 1, 1), np.float32)
    for instance, vector in _vectors(embedder, training):
        for sense in instance.senses:
            i = inventory.number[instance.word, sense]
            sums[i] += vector
            counts[i] += 1
    return sums / counts


def nearest_senses(
    embedder: Embedder,
    test: Sequence[Sentence],
    inventory: SenseInventory,
    vectors: np.ndarray,
) -> np.ndarray:
    """The number of the sense nearest to each instance of `test`, int `(instances, layers)`.

    It is `UNKNOWN` where no sense is known; in a tie it is the more frequent sense.
    """
    found = {}
    for instance, vector in _vectors(embedder, test):
        senses = inventory.of(instance.word) or [inventory.first_sense(instance.word)]
        best = _nearest(vectors[senses], vector)
        found[id(instance)] = np.array(senses)[best]
    return np.array([found[id(i)] for sentence in test for i in sentence.instances])


def _nearest(candidates, vector):
    """The nearest of vectors (senses, layers, dim) in each layer: (layers,)."""
    norms = np.linalg.norm(candidates, axis=-1) * np.linalg.norm(vector, axis=-1)
    cosines = np.einsum("sld,ld->sl", candidates, vector) / np.maximum(norms, 1e-12)
    return np.argmax(np.round(cosines, DIGITS), axis=0)


def _vectors(embedder, sentences):
    tokens = [sentence.tokens for sentence in sentences]
    arrays = embedder.stream(tokens, show_progress_bar=True)
    for sentence, layers in zip(sentences, arrays):
        for instance in sentence.instances:
            yield instance, layers[:, instance.first : instance.end].mean(axis=1)
