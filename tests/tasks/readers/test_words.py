"""Raw text to words and punctuation."""

import pytest

from elmo_keras.tasks.readers.words import split_at_spaces, words_and_punctuation


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("I don't know, it's Ann's.", "I do n't know , it 's Ann 's ."),
        ("They'll say DON’T...", "They 'll say DO N’T ..."),
        ("영화 최고!! 7.5점,재밌어요^^", "영화 최고 !! 7.5점 , 재밌어요 ^ ^"),
        ("F-22s at 99.9% of a_b", "F-22s at 99.9% of a _ b"),
        ("'s a n't 'quoted' word", "'s a n't ' quoted ' word"),
        ("영화.재미 (2)~~ 🙂🙂", "영화 . 재미 ( 2 ) ~~ 🙂 🙂"),
        (" \t ", ""),
    ],
)
def test_raw_text_becomes_words_and_punctuation(text, tokens):
    assert words_and_punctuation(text) == tokens.split()
    assert words_and_punctuation(tokens) == tokens.split()


def test_split_text_is_split_at_ascii_white_space_only():
    text = " 2\xa01/2 \t東京\u3000都\u2028x\x85\x1cy\r\n"
    assert split_at_spaces(text) == ["2\xa01/2", "東京\u3000都\u2028x\x85\x1cy"]
    # Text of the language model is split as bytes.
    assert split_at_spaces(text) == [t.decode() for t in text.encode().split()]
    assert split_at_spaces(" \n") == []


def test_korean_reviews_are_split_like_the_text_of_their_language_model(data):
    lines = data("ko_nsmc/lm_valid.txt").read_text(encoding="utf-8").splitlines()
    same = [words_and_punctuation(line) == line.split() for line in lines]
    # Differences are rare, such as `i'll` and addresses.
    assert sum(same) > 0.995 * len(lines) > 1000
