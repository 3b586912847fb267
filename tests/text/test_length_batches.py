"""Batches of sentences of similar length, padded and packed."""

import numpy as np
import pytest

from elmo_keras.text.length_batches import balanced_batches, chunks, length_batches

LENGTHS = [5, 1, 0, 9, 2, 5, 2, 30]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        # A batch keeps both limits, and a long sentence is alone.
        ({"max_tokens": 12, "max_sentences": 3}, [[2, 1, 4], [6, 0], [5], [3], [7]]),
        ({}, [[2, 1, 4, 6, 0, 5, 3, 7]]),
        ({"max_sentences": 3}, [[2, 1, 4], [6, 0, 5], [3, 7]]),
        ({"max_tokens": 12}, [[2, 1, 4, 6], [0, 5], [3], [7]]),
        ({"max_tokens": 1}, [[2], [1], [4], [6], [0], [5], [3], [7]]),
    ],
)
def test_sentences_come_from_the_shortest_to_the_longest(limits, expected):
    assert length_batches(LENGTHS, **limits) == expected
    assert length_batches(np.array(LENGTHS), **limits) == expected
    assert length_batches([], **limits) == []


def test_a_balanced_cut_is_after_the_sentence_that_reaches_the_share():
    assert balanced_batches([2, 3, 2, 4], 6) == [[3, 1], [0, 2]]
    assert balanced_batches([4, 4, 4], 5) == [[0], [1], [2]]
    assert balanced_batches([40], 5) == [[0]]


def test_a_chunk_ends_with_the_item_that_reaches_the_limit():
    assert [*chunks(["aa", "b", "ccc", ""], 3, len)] == [["aa", "b"], ["ccc"], [""]]
