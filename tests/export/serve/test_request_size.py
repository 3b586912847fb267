"""The size of a request is known, and bounded, before anything is computed."""

import grpc
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks.answer.words import words_in_graph
from export.sentences import splitter
from export.serve.config import Config
from export.serve.errors import RequestError
from export.serve.request_size import (
    RequestSize,
    check_answer,
    checked_size,
    token_counts,
)
from export.serve.signature import Signature

TEXTS = [b"a bb", b"", b"  ", b" c", b"d\te\n f ", b"x" * 50, "ein é, 한국어!".encode()]
MANY = Config()


def sentences(*texts):
    return {"sentences": np.array(texts, object)}


def tokens(columns, lengths):
    array = np.full([len(lengths), columns], b"a", object)
    return {"tokens": array, "sequence_len": np.array(lengths, "int32")}


@pytest.mark.parametrize("name", ["spaces", "whitespace"])
def test_tokens_are_counted_as_the_graph_splits_them(name):
    split = splitter(name)(tf.constant(TEXTS))
    np.testing.assert_array_equal(token_counts(TEXTS, name), split.row_lengths())


def test_with_a_tokenizer_for_punctuation_the_count_is_an_upper_bound():
    pytest.importorskip("tensorflow_text")
    name = "unicode_script"
    split = splitter(name)(tf.constant(TEXTS)).row_lengths()
    counts = token_counts(TEXTS, name)
    assert np.all(counts >= split) and counts[0] == 2 and not any(counts[1:3])


def test_the_size_of_tokens_counts_real_ones_and_all_columns():
    assert checked_size(tokens(5, [2, 0, 4]), "spaces", MANY) == RequestSize(3, 6, 5)
    assert checked_size(tokens(5, [-9, 99]), "spaces", MANY) == RequestSize(2, 5, 5)
    assert checked_size(tokens(0, []), "spaces", MANY) == RequestSize(0, 0, 0)


def test_the_size_of_sentences_is_that_of_their_tokens():
    size = checked_size(sentences(b"a b", b" c  "), "spaces", MANY)
    assert size == RequestSize(2, 3, 2)
    assert checked_size(sentences(), "spaces", MANY) == RequestSize(0, 0, 0)


def test_the_size_of_two_texts_is_that_of_both():
    pairs = {
        "premise": np.array([b"a b"], object),
        "hypothesis": np.array([b"c"], object),
    }
    assert checked_size(pairs, "spaces", MANY) == RequestSize(1, 3, 2)
    columns = np.full([2, 5], b"a", object), np.full([2, 3], b"a", object)
    size = checked_size(dict(zip(("premise", "hypothesis"), columns)), "spaces", MANY)
    assert size == RequestSize(2, 16, 5)
    with pytest.raises(RequestError, match="2 tokens .* 3"):
        checked_size(pairs, "spaces", Config(max_request_tokens=2))


def test_the_words_of_contexts_are_counted_as_an_upper_bound():
    words = words_in_graph(tf.constant(TEXTS)).words.row_lengths()
    counts = token_counts(TEXTS, "words")
    assert np.all(counts >= words) and counts[0] == 2 and not any(counts[1:3])


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (sentences(*[b""] * 4), r"3 sentences \(--max-request-rows\).* 4"),
        (sentences(b"a b c d", b"e f g"), r"6 tokens \(--max-request-tokens\).* 7"),
        (tokens(4, [4, 3]), r"6 tokens \(--max-request-tokens\).* 7"),
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
    }
    signature = Signature({}, outputs, {}, {})
    size, limits = RequestSize(8, 1000, 512), Config(max_answer_mb=4)
    check_answer(size, signature, ["elmo"], limits)
    with pytest.raises(RequestError, match=r"4 MB in its answer .* has 5\. "):
        check_answer(size, signature, ["default", "elmo"], limits)


def test_strings_count_in_an_answer():
    outputs = {"tags": tf.TensorSpec((None, None), tf.string)}
    size, limits = RequestSize(4096, 65_536, 512), Config(max_answer_mb=40)
    with pytest.raises(RequestError, match="40 MB in its answer"):
        check_answer(size, Signature({}, outputs, {}, {}), ["tags"], limits)
