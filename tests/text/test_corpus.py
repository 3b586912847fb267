"""A corpus as word numbers, in memory and in files; its statistics and batches."""

import hashlib

import numpy as np
import pytest

from elmo_keras import Vocabulary
from elmo_keras.text import corpus
from elmo_keras.text.corpus import Corpus, TextStatistics

SENTENCES = [list("abcdefg"), list("hi"), ["j"], list("abc"), ["a"] * 11, ["한", "l"]]
CORPUS = Corpus.from_sentences(SENTENCES)
VOCABULARY = Vocabulary.count(SENTENCES, min_count=2)


def never():
    raise AssertionError("The sentences were read.")
    yield


def test_a_corpus_keeps_every_sentence():
    assert [*CORPUS.sentences()] == SENTENCES
    assert [*Corpus.from_sentences([["a"], [], ["b"]]).sentences()] == [["a"], ["b"]]
    assert CORPUS.words[:3] == ("<S>", "</S>", "a") and len(set(CORPUS.words)) == 14
    assert CORPUS.lengths().tolist() == [7, 2, 1, 3, 11, 2]
    assert len(CORPUS.tokens) == 26 and CORPUS.n_predictions == 26 + 6


@pytest.mark.parametrize("at_once", [1, 4, 2**20])
@pytest.mark.parametrize("sentences", [SENTENCES, []])
def test_a_corpus_in_files_equals_the_one_in_memory(
    tmp_path, monkeypatch, at_once, sentences
):
    monkeypatch.setattr(corpus, "_AT_ONCE", at_once)
    expected = Corpus.from_sentences(sentences)
    for source in (iter(sentences), never()):  # written, then opened
        actual = Corpus.in_files(source, tmp_path / "a" / "b", ["x", 1])
        assert actual.words == expected.words and actual.digest == expected.digest
        for name in ("tokens", "ends"):
            a, b = getattr(actual, name), getattr(expected, name)
            assert a.dtype == b.dtype and a.tolist() == b.tolist()
    assert isinstance(actual.tokens, np.memmap) == bool(sentences)


def test_other_sources_are_read_again(tmp_path):
    first = Corpus.in_files(SENTENCES, tmp_path, {"size": 1}).digest
    other = Corpus.in_files([["b"]], tmp_path, {"size": 2})
    assert [*other.sentences()] == [["b"]] and other.digest != first
    assert Corpus.in_files(never(), tmp_path, {"size": 2}).digest == other.digest


def test_the_digest_is_that_of_the_sentences():
    text = "".join(" ".join(s) + "\n" for s in SENTENCES)
    assert CORPUS.digest == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("at_once", [2, 2**20])
def test_statistics_show_what_vocabulary_and_model_lose(config, monkeypatch, at_once):
    monkeypatch.setattr(corpus, "_AT_ONCE", at_once)
    # 9 characters in a row, so 7 bytes of a word are kept.
    text = [["1234567", "12345678", "한국어"], ["x", "한국어", "가나다"], ["x"] * 4]
    text.append("zzzzzzzzz aaaaaaaa zzzzzzzzz".split())
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "x", "한국어", "no"])
    result = TextStatistics.from_corpus(Corpus.from_sentences(text), vocabulary, config)
    assert (result.sentences, result.tokens, result.distinct_words) == (4, 13, 7)
    assert result.unknown == 6 / 13  # all but five x and two 한국어
    assert result.cut == 7 / 13
    # By frequency, then in the order of the text.
    assert result.cut_examples == ("한국어", "zzzzzzzzz", "12345678")
    assert str(result) == (
        "4 sentences, 13 tokens, 7 distinct words; 46.15% of the tokens are <UNK>, "
        "53.846% are too long and cut, such as 한국어, zzzzzzzzz, 12345678"
    )
    whole = TextStatistics.from_corpus(CORPUS, VOCABULARY, config)
    assert whole.cut == 0 and str(whole).endswith("0.000% are too long and cut")
    nothing = Corpus.from_sentences([[]])
    assert len(nothing) == 0 and nothing.n_predictions == 0
    result = TextStatistics.from_corpus(nothing, VOCABULARY, config)
    assert (result.tokens, result.unknown, result.cut) == (0, 0.0, 0.0)
