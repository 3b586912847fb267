"""Tokens in any form as tensors."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Tokenize, split_words
from elmo_keras.text.tokens import padded_tokens, string_tensor

PADDED = [[b"a", "한".encode()], [b"c", b""]]


@pytest.mark.parametrize(
    "tokens",
    [
        [["a", "한"], ["c"]],
        [["a", "한".encode()], [np.str_("c")]],
        [np.array(["a", "한"]), np.array(["c"], object)],
        np.array([["a", "한"], ["c"]], object),
        np.array([[b"a", "한".encode()], [b"c", b""]]),
    ],
)
def test_lists_and_arrays_become_a_padded_tensor(tokens):
    np.testing.assert_array_equal(string_tensor(tokens), PADDED)
    for row in (tokens[0], tuple(tokens[0])):  # one level stays one
        np.testing.assert_array_equal(string_tensor(row), PADDED[0])
    for row in (["a b", b"c"], np.array(["a b", "c"])):
        np.testing.assert_array_equal(string_tensor(row), [b"a b", b"c"])
    assert string_tensor("a b").numpy() == b"a b"


def test_empty_lists_have_no_tokens_or_one_that_is_padding():
    assert string_tensor([]).shape == (0, 0) and string_tensor([[], []]).shape == (2, 0)
    assert padded_tokens([[], []]).numpy().tolist() == [[b""], [b""]]
    np.testing.assert_array_equal(padded_tokens([["a", "한"], ["c"]]), PADDED)


def test_other_inputs_stay_as_they_are():
    for inputs in (tf.constant(["a"]), tf.ragged.constant([["a"]]), np.ones(2), None):
        assert string_tensor(inputs) is inputs


@pytest.mark.parametrize(
    ("tokens", "received"),
    [
        ([["a"], "b"], "'b' of type str"),
        (np.array([["a", float("nan")]], object), "nan of type float"),
        ([[["a"]]], "'a'. of type list"),
    ],
)
def test_lists_of_other_things_are_refused(tokens, received):
    with pytest.raises(ValueError, match=f"a list of `str` for each .*: .*{received}"):
        string_tensor(tokens)


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
