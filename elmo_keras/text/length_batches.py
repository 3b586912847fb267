"""Batches of sentences of similar length: the one place that makes them."""

import itertools
import math
from collections.abc import Sequence

import numpy as np


def length_batches(
    lengths: Sequence[int],
    *,
    max_tokens: float = math.inf,
    max_sentences: float = math.inf,
) -> list[list[int]]:
    """Indices of sentences in batches to be padded, the shortest first.

    Args:
        lengths: the number of positions that each sentence takes in a batch.
        max_tokens: maximum number of positions in a batch, padding included. A
            longer sentence is a batch of its own.
        max_sentences: maximum number of sentences in a batch.

    Example:

    >>> length_batches([3, 1, 2, 3], max_tokens=6)
    [[1, 2], [0, 3]]
    """
    batches: list[list[int]] = []
    for i in np.argsort(lengths, kind="stable").tolist():
        n = len(batches[-1]) + 1 if batches else 1
        full = n > max_sentences or n * lengths[i] > max_tokens
        if full or not batches:
            batches.append([])
        batches[-1].append(i)
    return batches


def balanced_batches(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Indices of sentences in batches to be packed, the longest first.

    Packed batches have no padding. All hold about the same number of tokens, which is
    fastest for the LSTM.

    Args:
        lengths: the number of tokens of each sentence.
        tokens: upper bound on the mean number of tokens in a batch.

    Example:

    >>> balanced_batches([3, 1, 2, 3], 5)
    [[0, 3], [2, 1]]
    """
    order = np.argsort(-np.asarray(lengths), kind="stable")
    ends = np.cumsum(np.asarray(lengths)[order])
    n_batches = -(-ends[-1] // tokens)
    places = np.arange(1, n_batches) * ends[-1] / n_batches
    borders = [0, *np.unique(np.searchsorted(ends, places) + 1), len(order)]
    batches = [order[a:b].tolist() for a, b in itertools.pairwise(borders)]
    return [batch for batch in batches if batch]
