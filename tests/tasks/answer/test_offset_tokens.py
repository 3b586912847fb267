"""Spans of characters as tokens and characters that are cut off."""

import pytest

from elmo_keras.tasks.answer.words import offset_tokens

TEXT = "  Ann,  서울에서 1990년 \u200bx"


def test_every_piece_with_a_token_has_a_span_that_gives_its_text_back():
    offsets = offset_tokens(TEXT)
    assert offsets.tokens == ["Ann", ",", "서울에서", "1990년", "x"]
    for begin in range(len(TEXT)):
        for end in range(begin + 1, len(TEXT) + 1):
            piece = TEXT[begin:end].strip(" \u200b")
            span = offsets.span(begin, end)
            assert (span is None) == (not piece)
            assert span is None or offsets.text(TEXT, span) == piece


@pytest.mark.parametrize(
    "piece, span",
    [
        ("Ann", (0, 0, 0, 0)),
        ("서울", (2, 2, 0, 2)),
        ("울에", (2, 2, 1, 1)),
        ("nn,  서울", (0, 2, 1, 2)),
    ],
)
def test_a_span_counts_the_characters_that_are_cut_off(piece, span):
    begin = TEXT.index(piece)
    assert offset_tokens(TEXT).span(begin, begin + len(piece)) == span
