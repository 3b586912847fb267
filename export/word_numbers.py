"""The numbers of a task model's words, found without a lookup table."""

import contextlib
from collections.abc import Iterator

from elmo_keras.tasks import TokenVectors
from elmo_keras.text.string_search import StringSearch


@contextlib.contextmanager
def without_tables(vectors: TokenVectors) -> Iterator[None]:
    """What is traced within the context looks up words with core operations.

    A SavedModel so needs no table that a loader must fill. As with `StringLookup`, word
    i has the number i + 1, and other words 0.
    """
    if not vectors.words:
        yield
        return
    table = vectors.word_numbers
    numbers = range(1, len(vectors.words) + 1)
    vectors.word_numbers = StringSearch(vectors.words, numbers, unknown=0)
    try:
        yield
    finally:
        vectors.word_numbers = table
