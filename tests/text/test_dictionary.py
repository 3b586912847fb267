"""The dictionary of characters and words of a model."""

import pytest

from elmo_keras.text.dictionary import TokenDictionary
from tests.support.dictionaries import DICTIONARY

# A search for each key's repetition would take minutes.
MANY = "\n".join(["<oov>", *map(str, range(70_000)), "last", "last"])


@pytest.mark.parametrize(
    ("characters", "words", "message"),
    [
        ("a", "", "characters should hold .* Missing: .*<bos>"),
        (DICTIONARY.characters + "\na", "", "each key once. Twice: 'a'"),
        (DICTIONARY.characters, MANY, "each key once. Twice: 'last'"),
        (DICTIONARY.characters, "a", "words should hold <oov>. Missing: <oov>"),
    ],
)
def test_a_dictionary_that_is_none_is_refused(characters, words, message):
    with pytest.raises(ValueError, match=message):
        TokenDictionary(characters, words)
