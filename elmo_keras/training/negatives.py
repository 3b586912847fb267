"""The negatives of the sampled softmax, drawn with the log-uniform sampler."""

from typing import NamedTuple

import numpy as np


class Negatives(NamedTuple):
    """Distinct word ids, and the number of draws that it took to get them.

    Attributes:
        ids: int64 `(negatives,)`.
        n_draws: number of draws, including repeated ids.
        vocabulary_size: number of words drawn from.
    """

    ids: np.ndarray
    n_draws: int
    vocabulary_size: int

    def log_expected_counts(self, ids: np.ndarray) -> np.ndarray:
        """log Q(id), Q(id) being the probability that an id is drawn at least once.

        Logits are corrected by it, so that the sampled softmax estimates the full
        softmax. float32, in the shape of `ids`.
        """
        size = self.vocabulary_size
        probability = np.log1p(1 / (ids + 1.0)) / np.log1p(size)
        expected = -np.expm1(self.n_draws * np.log1p(-probability))
        return np.log(expected).astype(np.float32)


def draw_negatives(
    rng: np.random.Generator, n_negatives: int, vocabulary_size: int
) -> Negatives:
    """Draws distinct ids, P(id) = log((id + 2) / (id + 1)) / log(size + 1).

    Word ids must be sorted by falling frequency. The distribution is that of
    TensorFlow's `log_uniform_candidate_sampler` with `unique=True`, but the draws
    depend on `rng` alone, so a resumed run draws the same ids as an uninterrupted one.

    Args:
        rng: the source of randomness.
        n_negatives: number of ids, less than the number of words.
        vocabulary_size: number of words.
    """
    draws = np.zeros(0, np.int64)
    while True:
        more = np.expm1(rng.random(2 * n_negatives) * np.log1p(vocabulary_size))
        more = np.minimum(more.astype(np.int64), vocabulary_size - 1)
        draws = np.concatenate([draws, more])
        _, first = np.unique(draws, return_index=True)
        if len(first) >= n_negatives:
            first = np.sort(first)[:n_negatives]
            n_draws = int(first[-1]) + 1
            return Negatives(draws[first], n_draws, vocabulary_size)
