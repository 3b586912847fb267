"""The size of an element of a pipeline."""

import pytest

from elmo_keras.embed.on_beam.batch_tokens import n_tokens


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        ("three words here", 5),
        (b"two words", 4),
        (["one token"], 3),
        ("", 2),
        (("a key", "three words here"), 5),
        ((("a", "key"), ["one", "two"]), 4),
        (("a", "tuple", "of", "tokens"), 6),
        (None, 2),
        (("key", 7), 2),
    ],
)
def test_an_example_counts_with_its_boundaries_and_without_its_key(example, expected):
    assert n_tokens(example) == expected
