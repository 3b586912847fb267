"""Sentences in batches of similar length, and the results back in the given order."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

S = TypeVar("S", bound=Sized)
T = TypeVar("T")
R = TypeVar("R")

SORTED_TOGETHER = 8  # batches of consecutive sentences
SHUFFLED_TOGETHER = 32  # batches of random sentences whose lengths become similar


def length_batches(
    lengths: Sequence[int] | np.ndarray,
    *,
    max_tokens: float = math.inf,
    max_sentences: float = math.inf,
) -> list[list[int]]:
    """Indices of sentences in batches to be padded, the shortest first.

    A batch has at most `max_tokens` positions, padding included, or is one sentence.

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


def shuffled_batches(
    lengths: np.ndarray,
    rng: np.random.Generator,
    *,
    max_sentences: int,
    max_tokens: float = math.inf,
) -> list[list[int]]:
    """Indices of random sentences in batches like `length_batches`, in random order."""
    order, batches = rng.permutation(len(lengths)), []
    at_once = SHUFFLED_TOGETHER * max_sentences
    for first in range(0, len(order), at_once):
        indices = order[first : first + at_once]
        cut = length_batches(
            lengths[indices], max_tokens=max_tokens, max_sentences=max_sentences
        )
        batches.extend(indices[batch].tolist() for batch in cut)
    return [batches[i] for i in rng.permutation(len(batches))]


def balanced_batches(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Indices of sentences in batches to be packed without padding, the longest first.

    All batches hold about the same number of tokens, at most `tokens` on average, which
    is fastest for the LSTM.

    >>> balanced_batches([3, 1, 2, 3], 5)
    [[0, 3], [2, 1]]
    """
    order = np.argsort(-np.asarray(lengths), kind="stable")
    ends = np.cumsum(np.asarray(lengths)[order])
    n_batches = -(-ends[-1] // tokens)
    targets = np.arange(1, n_batches) * ends[-1] / n_batches
    borders = [0, *np.unique(np.searchsorted(ends, targets) + 1), len(order)]
    batches = [order[a:b].tolist() for a, b in itertools.pairwise(borders)]
    return [batch for batch in batches if batch]


def padded_arrays(arrays: Sequence[np.ndarray], value) -> np.ndarray:
    """Arrays of the same rank in one array `(arrays, …)`, padded at their ends.

    >>> padded_arrays([np.array([1, 2]), np.array([3])], -1).tolist()
    [[1, 2], [3, -1]]
    """
    shape = np.max([array.shape for array in arrays], axis=0).astype(int)
    padded = np.full((len(arrays), *shape), value, arrays[0].dtype)
    for i, array in enumerate(arrays):
        padded[(i, *map(slice, array.shape))] = array
    return padded


def map_batches(
    compute: Callable[[Sequence[int]], Iterable[R]], batches: Iterable[Sequence[int]]
) -> list[R]:
    """The result of each item, in the order of the items, by batches of their indices.

    >>> map_batches(lambda batch: [10 * i for i in batch], [[1, 2], [0, 3]])
    [0, 10, 20, 30]
    """
    results = {i: x for batch in batches for i, x in zip(batch, compute(batch))}
    return [results[i] for i in range(len(results))]


def stream_batches(
    compute: Callable[[Iterator[list[S]]], Iterable[Iterable[R]]],
    sentences: Iterable[S],
    cut: Callable[[list[int]], list[list[int]]],
    *,
    batch_tokens: int,
) -> Iterator[R]:
    """Yields the result of each sentence in turn, within bounded memory.

    `cut` makes batches of indices of lengths; `compute` takes the batches of sentences.
    """
    at_once = SORTED_TOGETHER * batch_tokens
    # Empty sentences count too.
    for chunk in chunks(sentences, at_once, lambda sentence: len(sentence) + 1):
        batches = cut([len(sentence) for sentence in chunk])
        results = compute([chunk[i] for i in batch] for batch in batches)
        indexed = (zip(*pair) for pair in zip(batches, results))
        yield from in_turn(itertools.chain.from_iterable(indexed))


def in_turn(indexed: Iterable[tuple[int, R]]) -> Iterator[R]:
    """Yields the items 0, 1, 2, …, each as soon as all before it are there."""
    waiting, following = {}, 0
    for index, item in indexed:
        waiting[index] = item
        while following in waiting:
            yield waiting.pop(following)
            following += 1


def read_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yields the items; a thread makes each while the one before it is used."""
    with ThreadPoolExecutor(1) as thread:
        following = thread.submit(next, items, None)
        while (item := following.result()) is not None:
            following = thread.submit(next, items, None)
            yield item


def chunks(
    items: Iterable[T], limit: int, size_of: Callable[[T], int]
) -> Iterator[list[T]]:
    """Yields consecutive items that have at least `limit` together."""
    chunk, size = [], 0
    for item in items:
        chunk.append(item)
        size += size_of(item)
        if size >= limit:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
