"""Batches of a few shapes, each of which XLA compiles once."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

N_PIECES = 8  # of the distinct words of a part, from the longest to the shortest
GROWTH = 1.25  # from a size to the next one, for a batch that has no room in it
SPARE = 1.03  # of the first size, beyond the largest batch of the sample


class FixedShapes(NamedTuple):
    """The sizes of batches, which follow from a sample of them.

    Attributes:
        words: the smallest number of words in a piece.
        places: the greatest number of windows of characters of a piece's words.
        candidates: the smallest number of candidates of the sampled softmax.
    """

    words: int
    places: tuple[int, ...]
    candidates: int

    @classmethod
    def of_sample(
        cls, sample: Iterable[tuple[np.ndarray, int]], most_places: int
    ) -> "FixedShapes":
        """Sizes with room for most batches, whose windows and candidates these are."""
        windows, candidates = zip(*sample)
        n_words = max(map(len, windows))
        size = int(np.ceil(n_words * SPARE / N_PIECES))
        places = np.ones((len(windows), N_PIECES), np.int64)
        for row, of_words in zip(places, windows):
            longest = np.sort(of_words)[::-1][::size]
            row[: len(longest)] = longest
        places = np.minimum(places.max(axis=0) + 1, most_places).tolist()
        # A piece of the longest words of any text: some size has room for every batch.
        places[0] = most_places
        return cls(size, tuple(places), int(np.ceil(max(candidates) * SPARE)))

    def arrange(self, windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The index of the word in each slot, and the slot of each word.

        `windows` are the numbers of windows of distinct words. The slots after the last
        word hold the shortest one again.
        """
        order, size = np.argsort(-windows, kind="stable"), self.words
        while (
            len(longest := windows[order[::size]]) > N_PIECES
            or (longest > self.places[: len(longest)]).any()
        ):
            size = int(np.ceil(GROWTH * size))
        slots = np.empty(len(order), np.int64)
        slots[order] = np.arange(len(order))
        words = np.full(N_PIECES * size, order[-1])
        words[: len(order)] = order
        return words, slots

    def fill(self, candidates: np.ndarray, vocabulary_size: int) -> np.ndarray:
        """The candidates, then other words, which no token has, up to a fixed number."""
        size = self.candidates
        while size < len(candidates):
            size = int(np.ceil(GROWTH * size))
        others = np.ones(vocabulary_size, bool)
        others[candidates] = False
        # Distinct, as the rows of one word would be updated twice.
        others = np.flatnonzero(others)[: size - len(candidates)]
        return np.concatenate([candidates, others])
