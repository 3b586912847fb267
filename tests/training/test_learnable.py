"""Texts, vocabularies and batches that don't fit together."""

import types

import pytest

from elmo_keras import Vocabulary
from elmo_keras.text.corpus import Corpus, unknown_share
from elmo_keras.training.inputs import VocabularySource
from elmo_keras.training.learnable import check_vocabulary, remarks

# Ten tokens, two of them "a".
TEXT = Corpus.of([list("abc"), list("adefghi")])


def inputs(words, *, pretrained=False):
    vocabulary = Vocabulary(("<S>", "</S>", "<UNK>", *words))
    model = types.SimpleNamespace(vocabulary=vocabulary) if pretrained else None
    return types.SimpleNamespace(train=TEXT, vocabulary=vocabulary, pretrained=model)


def batches(n_rows, unroll_steps):
    return types.SimpleNamespace(corpus=TEXT, n_rows=n_rows, unroll_steps=unroll_steps)


def statistics(words):
    return types.SimpleNamespace(unknown=unknown_share(TEXT, inputs(words).vocabulary))


def test_tokens_that_are_not_in_the_vocabulary_are_counted():
    assert unknown_share(TEXT, inputs("a").vocabulary) == 0.8
    assert unknown_share(TEXT, inputs("abc").vocabulary) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("words", "pretrained", "remedy"),
    [
        ({"min_count": 7}, False, "Give a lower --min-count than 7."),
        ({}, False, "Give a lower --min-count than 2."),
        ({"max_size": 4}, False, "than 2, or a higher --vocabulary-size."),
        ({"max_size": 4, "min_count": 1}, False, "Give a higher --vocabulary-size."),
        ({"file": "vocab.txt"}, False, "Give another --vocabulary."),
        ({}, True, "Give --new-softmax for a vocabulary of this text."),
    ],
)
def test_a_vocabulary_without_the_words_of_the_text_is_refused(
    words, pretrained, remedy
):
    source = VocabularySource(**words)
    check_vocabulary(inputs("a", pretrained=pretrained), source)
    with pytest.raises(ValueError) as refusal:
        check_vocabulary(inputs("xyz", pretrained=pretrained), source)
    message = str(refusal.value)
    assert message.startswith("100.0% of the tokens of the training text are not among")
    assert "the 6 words of the vocabulary" in message and message.endswith(remedy)


def test_many_unknown_tokens_and_batches_larger_than_the_text_are_told():
    # With the sentence ends there are twelve predictions.
    assert remarks(statistics("abcde"), batches(3, 4)) == []
    (unknown,) = remarks(statistics("a"), batches(3, 4))
    assert unknown.startswith("Warning: 80% of the training text is <UNK>")
    (large,) = remarks(statistics("abcde"), batches(4, 4))
    assert large.startswith("Warning: a batch of 4 rows of 4 tokens is larger than")
    assert "12 tokens and sentence ends" in large and "--batch-size" in large
