"""Character n-grams as rows of a matrix."""

import collections

import numpy as np

from elmo_keras.heads.classifier.model import NgramScores, batch_ngram_rows
from elmo_keras.heads.classifier.ngrams import ngram_rows, ngram_scores
from elmo_keras.text.tokens import padded_tokens

TEXTS = [["재미없지", "않다", "."], [], ["a"], ["😀", "ünï", "cödé", "x" * 70], ["🇰🇷"]]
N_ROWS = 999


def test_numpy_and_graphs_find_the_same_rows():
    texts, rows = map(np.array, batch_ngram_rows(padded_tokens(TEXTS), N_ROWS))
    for i, tokens in enumerate(TEXTS):
        expected = ngram_rows(tokens, N_ROWS)
        assert collections.Counter(rows[texts == i]) == collections.Counter(expected)


def test_rows_are_those_of_the_published_hash():
    def fnv1a(characters):
        value = 0x811C9DC5
        for character in characters:
            value = (value ^ ord(character)) * 0x01000193 % 2**32
        return value

    text = " 않다 . "
    ngrams = [text[i : i + n] for n in range(1, 6) for i in range(len(text) - n + 1)]
    expected = [(h ^ h >> 15) % 2**20 for h in map(fnv1a, ngrams)]
    assert ngram_rows(["않다", "."], 2**20).tolist() == expected


def test_scores_are_sums_of_rows_over_the_root_of_their_number():
    layer = NgramScores(N_ROWS, 2)
    layer.build()
    kernel = np.random.default_rng(0).normal(size=(N_ROWS, 2)).astype(np.float32)
    layer.kernel.assign(kernel)
    rows = [ngram_rows(tokens, N_ROWS) for tokens in TEXTS]
    expected = [kernel[row].sum(axis=0) / len(row) ** 0.5 for row in rows]
    for scores in layer(padded_tokens(TEXTS)), ngram_scores(kernel, TEXTS):
        np.testing.assert_allclose(scores, expected, atol=1e-5)
