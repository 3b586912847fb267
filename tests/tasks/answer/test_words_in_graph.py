"""The words that a graph finds are those of `offset_tokens`, at the same places."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks.answer.words import offset_tokens, words_in_graph

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


def assert_same_words(texts):
    found = words_in_graph(tf.constant(texts, tf.string))
    rows = zip(texts, *(x.to_list() for x in (found.words, found.begins, found.ends)))
    for text, words, *places in rows:
        expected = offset_tokens(text)
        assert [word.decode() for word in words] == expected.tokens, ascii(text)
        content = text.encode()
        for bytes_before, offsets in zip(places, (expected.begins, expected.ends)):
            assert [len(content[:n].decode()) for n in bytes_before] == offsets


def test_words_and_places_are_those_of_training():
    assert_same_words(TEXTS)


def test_any_sequence_of_letters_marks_joiners_and_signs_is_split_the_same():
    rng = np.random.default_rng(0)
    signs = list("a_1가é ,\u0301\u094d\u200d\u200c\u2060\xad\u200b\U0001f468\u0130")
    texts = ["".join(rng.choice(signs, rng.integers(0, 14))) for _ in range(3000)]
    assert_same_words(texts)


def test_bytes_that_are_no_text_are_spaces():
    found = words_in_graph(tf.constant([b"a\xfeb \xff c", b"\xff"]))
    assert found.words.to_list() == [[b"a", b"b", b"c"], []]
    assert found.texts[0] == b"a b   c"


@pytest.mark.slow
def test_a_text_of_a_megabyte_is_split():
    text = "서울에서 (Ann's) " * 40_000 + " " * 500_000
    found = words_in_graph(tf.constant([text]))
    assert found.words.row_lengths().numpy().tolist() == [6 * 40_000]
