"""The layer that splits texts."""

import keras
import pytest
import tensorflow as tf

from elmo_keras import Tokenize, split_words

TEXTS = ["I don't know... 7.5점, 재밌어요^^", "", "  ", "cafe\u0301 👩\u200d🚀!"]


def test_tokens_are_those_of_the_splitters():
    rows = Tokenize()(tf.constant(TEXTS)).numpy()
    for row, text in zip(rows, TEXTS, strict=True):
        assert [token.decode() for token in row if token] == split_words(text)
    rows = Tokenize("spaces")(tf.constant([["a  b's"], ["c"]])).numpy()
    assert rows.tolist() == [[b"a", b"b's"], [b"c", b""]]
    saved = keras.saving.serialize_keras_object(Tokenize("spaces"))
    assert keras.saving.deserialize_keras_object(saved).tokenizer == "spaces"
    assert Tokenize()(tf.constant([""])).shape == (1, 1)
    assert Tokenize()(tf.constant([], tf.string)).shape == (0, 1)
    for wrong in tf.constant([["a", "b"]]), tf.constant("a"), tf.constant([1]), None:
        with pytest.raises(ValueError, match="Texts should be strings"):
            Tokenize()(wrong)
    with pytest.raises(ValueError, match="`tokenizer` should be"):
        Tokenize("letters")
