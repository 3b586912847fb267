"""Work on sentences in batches of similar length, with results in the given order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

S = TypeVar("S", bound=Sequence)
R = TypeVar("R")


def in_order(
    sentences: Iterable[S],
    results_of: Callable[[Iterator[list[S]]], Iterable[Iterable[R]]],
    *,
    batches_of: Callable[[list[int]], list[list[int]]],
    tokens_at_once: int,
) -> Iterator[R]:
    """Yields the result of each sentence, in the order of the sentences.

    Args:
        sentences: tokens of sentences, any number of them. A sentence may be empty.
        results_of: takes batches of sentences; yields the results of each batch.
        batches_of: takes the lengths of sentences; returns batches of their indices,
            such as `length_batches`.
        tokens_at_once: about how many tokens are sorted by length together, which
            bounds the memory.
    """
    for chunk in _chunks(sentences, tokens_at_once):
        batches = batches_of([len(sentence) for sentence in chunk])
        results = results_of([chunk[i] for i in batch] for batch in batches)
        found = {}
        for batch, batch_results in zip(batches, results):
            found.update(zip(batch, batch_results))
        for i in range(len(chunk)):
            yield found.pop(i)


def _chunks(sentences, tokens):
    """Consecutive sentences with at least `tokens` tokens, except the last ones."""
    chunk, size = [], 0
    for sentence in sentences:
        chunk.append(sentence)
        size += len(sentence) + 1  # empty sentences count too
        if size >= tokens:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
