"""A small dictionary of characters and words, and the model that has it."""

import dataclasses

from elmo_keras.text.dictionary import CHARACTER_MARKS, TokenDictionary
from tests.support.sizes import CONFIG

CHARACTERS = ["a", "é", "b", "한", "국", *CHARACTER_MARKS, "🙂", "w", "o", "r"]
WORDS = ["word", "<bos>", "<oov>", "a", "한국어", "", "<eos>", "naïve", "abababa", "🙂"]
DICTIONARY = TokenDictionary("\n".join(CHARACTERS), "\n".join(WORDS))


def dictionary_config(with_words=True, **changes):
    """The sizes of the tests with the dictionary."""
    dictionary = dataclasses.replace(
        DICTIONARY, **({} if with_words else {"words": ""})
    )
    return dataclasses.replace(
        CONFIG,
        dictionary=dictionary,
        word_embedding_dim=4 * with_words,
        **changes,
    )
