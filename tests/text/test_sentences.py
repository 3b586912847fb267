import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import tensorflow as tf

from elmo_keras import Corpus, Vocabulary
from elmo_keras.text.sentences import tokens_of_sentences

TWO = [[b"a", b"bc"], [b"d"]]
COLUMN, ROWS = ["a bc", "d"], [["a", "bc"], ["d", ""]]


@pytest.mark.parametrize(
    "sentences",
    [
        COLUMN,
        [b"a bc", (b"d",)],
        iter(COLUMN),
        np.array([b"a bc", b"d"]),
        np.array(ROWS),
        [np.array(["a", "bc"]), np.array(["d"])],
        pd.Series(COLUMN, index=[7, 3]),
        pa.chunked_array([["a bc"], ["d"]]),
        pa.array([["a", "bc"], ["d"]]),
        list(pa.array(COLUMN)),
        tf.constant(ROWS),
        tf.ragged.constant([["a", "bc"], ["d"]]),
        [tf.constant("a bc"), tf.constant(["d"])],
    ],
    ids=lambda value: f"{type(value).__module__}.{type(value).__name__}",
)
def test_strings_of_all_kinds_are_the_same_sentences(sentences):
    assert list(tokens_of_sentences(sentences)) == TWO


@pytest.mark.parametrize("sentence", ["a b", np.array("a b"), tf.constant("a b")])
def test_one_string_is_one_sentence(sentence):
    assert list(tokens_of_sentences(sentence)) == [[b"a", b"b"]]


@pytest.mark.parametrize(
    ("sentences", "error", "message"),
    [
        (None, TypeError, "Sentences should be a str, or a list .* Received: None"),
        ({"a"}, TypeError, "of type set"),
        (pd.DataFrame({"text": COLUMN}), TypeError, "of type DataFrame"),
        (np.zeros(2), TypeError, "of type ndarray"),
        (pd.Series(["a", float("nan")]), TypeError, "Sentence 1 .* nan of type float"),
        ([["a", 3]], TypeError, "Sentence 0 should be"),
        (["a", [b"\xff"]], ValueError, "Sentence 1 should be UTF-8"),
        (["\ud800"], ValueError, "Sentence 0 should be UTF-8"),
        (np.array([["a", "", "b"]]), ValueError, "should not be empty. Token 1"),
    ],
    ids=repr,
)
def test_everything_else_is_refused(sentences, error, message):
    with pytest.raises(error, match=message):
        list(tokens_of_sentences(sentences))


def test_a_tokenizer_splits_texts_but_not_tokens():
    sentences = ["a-b", b"a-b", ["a-b"]]
    actual = list(tokens_of_sentences(sentences, lambda text: text.split("-")))
    assert actual == [[b"a", b"b"], [b"a", b"b"], [b"a-b"]]


def test_corpora_and_vocabularies_hold_the_words_of_texts():
    assert list(Corpus.from_sentences("a bc").sentences()) == [["a", "bc"]]
    assert Vocabulary.count(["a bc"]).words[3:] == ("a", "bc")
