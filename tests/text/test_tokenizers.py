"""Words of raw text: in all scripts, with their places, in Python and in a graph."""

import unicodedata

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks.answer_text import as_utf8, offset_tokens
from elmo_keras.text.graph_tokenizer import placed_words
from elmo_keras.text.tokenizers import split_spaces, split_words


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
        ("नमस्ते दुनिया।", "नमस्ते दुनिया ।"),
        ("ภาษาไทยที่ดี ครับ", "ภาษาไทยที่ดี ครับ"),
        ("שָׁלוֹם, X", "שָׁלוֹם , X"),  # with vowels
        ("か\u3099く。", "か\u3099く 。"),  # decomposed
        ("می\u200cخواهم", "می\u200cخواهم"),  # with a non-joiner
        ("co\u00adop.", "co\u00adop ."),  # a soft hyphen
        ("👩\u200d👧🙂", "👩\u200d👧 🙂"),
        ("♥\ufe0f!", "♥\ufe0f !"),  # an emoji with a selector
        ("!\u0301a", "!\u0301 a"),  # a mark of a sign
        ("가\u200b 나\u200b", "가 나"),  # zero width spaces
    ],
)
def test_words_of_all_scripts_are_split_from_signs(text, tokens):
    assert split_words(text) == split_words(tokens) == tokens.split()


# What rules of `split_words` look at, and neighbours of each kind.
PIECES = [
    *"aAntTsSmdrevlK'’.,!?~-_%·/ 012é한क👩🏽²\t\u3000\u0301\u200d\u017f\u212a",
    "n't",
]
PIECES += [*"\u200b\u2060\u0130\u0131\u093f\u00ad"]
TEXTS = [
    "In 1990, Ann's café (été) cost $3.50 — _why_?",
    "서울에서 만났다. 제2차 세계 대전은",
    "नमस्ते दुनिया, สวัสดีชาวโลก",
    "nai\u0308ve a\u200db \u200da \U0001f468\u200d\U0001f469\u200d_x _a\u0301b \u0301x",
    "a\xa0b\u200bc\u3000d\x1ce\x85f\tg\nh\rj\x0bk\u2028l",
    "co\xadoperate x\u2060y \u200d \u200c",
    "",
    " \n ",
    "中文 ½² Ⅷ ٣ ª",
]


def test_a_graph_splits_as_python_does():
    rng = np.random.default_rng(0)
    pieces = ["".join(rng.choice(PIECES, n)) for n in rng.integers(0, 24, 5000)]
    texts = TEXTS + pieces
    found = placed_words(tf.constant(texts))
    rows = zip(texts, *(x.to_list() for x in (found.words, found.begins, found.ends)))
    for text, words, *places in rows:
        expected = offset_tokens(text)
        assert [word.decode() for word in words] == expected.tokens, ascii(text)
        content = text.encode()
        for bytes_before, offsets in zip(places, (expected.begins, expected.ends)):
            assert [len(content[:n].decode()) for n in bytes_before] == offsets


def test_split_text_is_split_at_ascii_white_space_only():
    text = " 2\xa01/2 \t東京\u3000都\u2028x\x85\x1cy\r\n"
    assert split_spaces(text) == ["2\xa01/2", "東京\u3000都\u2028x\x85\x1cy"]
    # Text of the language model is split as bytes.
    assert split_spaces(text) == [t.decode() for t in text.encode().split()]
    assert split_spaces(" \n") == []


def test_decomposed_text_has_the_words_of_composed_text():
    composed = "José, 서울에서 3.5 café"
    tokens = split_words(unicodedata.normalize("NFD", composed))
    found = [unicodedata.normalize("NFC", token) for token in tokens]
    assert found == split_words(composed)
    assert len(tokens[0]) == 5  # "e" and its accent


TEXT = "  Ann,  서울에서 1990년 \u200bx"


def test_every_piece_with_a_token_has_a_span_that_gives_its_text_back():
    offsets = offset_tokens(TEXT)
    assert offsets.tokens == ["Ann", ",", "서울에서", "1990년", "x"]
    for begin in range(len(TEXT)):
        for end in range(begin + 1, len(TEXT) + 1):
            piece = TEXT[begin:end].strip(" \u200b")
            span = offsets.span(begin, end)
            assert (span is None) == (not piece)
            assert span is None or piece in offsets.answer(TEXT, *span)


@pytest.mark.parametrize(
    "token, rest",
    [("서울에서", "서울"), ("에서", "에"), ("서", "서"), ("x서", "x"), ("a", "a")],
)
def test_the_longest_ending_that_leaves_something_is_stripped(token, rest):
    text = f"In {token}!"
    assert offset_tokens(text).answer(text, 0, 1, ["서", "에서"]) == f"In {rest}"
    assert offset_tokens(text).answer(text, 0, 1) == f"In {token}"


def test_bytes_that_are_no_text_are_spaces():
    texts = as_utf8(tf.constant([b"a\xfeb \xff c", b"\xff"]))
    assert placed_words(texts).words.to_list() == [[b"a", b"b", b"c"], []]
    assert texts[0] == b"a b   c"
