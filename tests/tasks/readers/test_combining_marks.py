"""Combining marks and joiners stay in their word."""

import re
import unicodedata

import pytest

from elmo_keras.tasks.answer.words import offset_tokens
from elmo_keras.tasks.readers.words import joined_at_marks, words_and_punctuation

SCRIPTS = {
    "Devanagari": ("नमस्ते दुनिया।", ["नमस्ते", "दुनिया", "।"]),
    "Thai": ("ภาษาไทยที่ดี ครับ", ["ภาษาไทยที่ดี", "ครับ"]),
    "Tamil": ("தமிழ்!", ["தமிழ்", "!"]),
    "Hebrew with vowels": ("שָׁלוֹם, X", ["שָׁלוֹם", ",", "X"]),
    "Japanese, decomposed": ("か\u3099く。", ["か\u3099く", "。"]),
    "Persian with a non-joiner": ("می\u200cخواهم", ["می\u200cخواهم"]),
    "a soft hyphen": ("co\u00adop.", ["co\u00adop", "."]),
    "joined emoji": ("👩\u200d👧🙂", ["👩\u200d👧", "🙂"]),
    "an emoji with a selector": ("♥\ufe0f!", ["♥\ufe0f", "!"]),
    "a mark of a sign": ("!\u0301a", ["!\u0301", "a"]),
    "a mark after a space": ("a \u0301b", ["a", "\u0301", "b"]),
    "no marks": ("a-b", ["a", "-", "b"]),
}


@pytest.mark.parametrize("text, tokens", SCRIPTS.values(), ids=SCRIPTS)
def test_words_of_all_scripts_stay_whole(text, tokens):
    assert offset_tokens(text).tokens == tokens
    if text != "a-b":  # Latin words keep their hyphens there
        assert words_and_punctuation(text) == tokens


@pytest.mark.parametrize(
    "split", [words_and_punctuation, lambda text: offset_tokens(text).tokens]
)
def test_decomposed_text_has_the_words_of_composed_text(split):
    composed = "José, 서울에서 3.5 café"
    tokens = split(unicodedata.normalize("NFD", composed))
    assert [unicodedata.normalize("NFC", token) for token in tokens] == split(composed)
    assert len(tokens[0]) == 5  # "e" and its accent


def test_spans_without_marks_stay_as_they_are():
    text = "한국 a_b 3.5"
    spans = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
    assert joined_at_marks(text, spans) == spans
    assert joined_at_marks("", []) == []
