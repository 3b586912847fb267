"""The size of a request is known, and bounded, before anything is computed."""

import grpc
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.export.sentences import splitter
from elmo_keras.serve.config import Config
from elmo_keras.serve.errors import RequestError
from elmo_keras.serve.request_size import (
    check_answer,
    checked_size,
    token_counts,
)
from elmo_keras.serve.signature import Signature
from elmo_keras.tasks.answer.words_in_graph import words_in_graph

TEXTS = [b"a bb", b"", b"  ", b" c", b"d\te\n f ", b"x" * 50, "ein é, 한국어!".encode()]
SEVEN_TOKENS = r"6 tokens \(--max-request-tokens\).* 7"


def texts(**fields):
    return {name: np.array(values, object) for name, values in fields.items()}


def tokens(columns, lengths):
    array = np.full([len(lengths), columns], b"a", object)
    return {"tokens": array, "sequence_len": np.array(lengths, "int32")}


@pytest.mark.parametrize("name", ["spaces", "whitespace"])
def test_tokens_are_counted_as_the_graph_splits_them(name):
    split = splitter(name)(tf.constant(TEXTS))
    np.testing.assert_array_equal(token_counts(TEXTS, name), split.row_lengths())


@pytest.mark.parametrize("name", ["unicode_script", "words"])
def test_with_punctuation_the_count_is_an_upper_bound(name):
    if name == "words":
        tokens = words_in_graph(tf.constant(TEXTS)).words
    else:
        pytest.importorskip("tensorflow_text")
        tokens = splitter(name)(tf.constant(TEXTS))
    counts = token_counts(TEXTS, name)
    assert np.all(counts >= tokens.row_lengths())
    assert counts[0] == 2 and not any(counts[1:3])


@pytest.mark.parametrize(
    ("inputs", "size"),
    [
        (tokens(5, [2, 0, 4]), (3, 6, 5)),
        (tokens(5, [-9, 99]), (2, 5, 5)),
        (tokens(0, []), (0, 0, 0)),
        (texts(sentences=[b"a b", b" c  "]), (2, 3, 2)),
        (texts(sentences=[]), (0, 0, 0)),
        (texts(premise=[b"a b"], hypothesis=[b"c"]), (1, 3, 2)),
        (texts(premise=[[b"a"] * 5] * 2, hypothesis=[[b"a"] * 3] * 2), (2, 16, 5)),
    ],
)
def test_the_size_is_that_of_the_tokens_and_all_columns(inputs, size):
    """And of two texts, that of both."""
    assert checked_size(inputs, "spaces", Config()) == size


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (texts(sentences=[b""] * 4), r"3 sentences \(--max-request-rows\).* 4"),
        (texts(sentences=[b"a b c d", b"e f g"]), SEVEN_TOKENS),
        (texts(premise=[b"a b c d"], hypothesis=[b"e f g"]), SEVEN_TOKENS),
        (tokens(4, [4, 3]), SEVEN_TOKENS),
    ],
)
def test_too_many_rows_or_tokens_are_refused_with_the_numbers(inputs, message):
    limits = Config(max_request_rows=3, max_request_tokens=6)
    with pytest.raises(RequestError, match=message) as caught:
        checked_size(inputs, "spaces", limits)
    assert caught.value.code is grpc.StatusCode.INVALID_ARGUMENT


def test_an_answer_that_would_be_too_large_is_refused():
    outputs = {
        "elmo": tf.TensorSpec((None, None, 256)),
        "default": tf.TensorSpec((None, 256)),
        "tags": tf.TensorSpec((None, None), tf.string),
    }
    signature = Signature({}, outputs, {}, {})
    size, limits = (8, 512), Config(max_answer_mb=4)
    check_answer(*size, signature, ["elmo"], limits)
    with pytest.raises(RequestError, match=r"4 MB in its answer .* has 5\. "):
        check_answer(*size, signature, ["default", "elmo"], limits)
    size, limits = (4096, 512), Config(max_answer_mb=40)
    with pytest.raises(RequestError, match="40 MB in its answer"):
        check_answer(*size, signature, ["tags"], limits)
