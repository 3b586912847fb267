"""The spans of answers, from scores, and their pieces of text."""

import itertools

import numpy as np
import pytest

from elmo_keras.heads.answering.decoding import best_answer, offset_tokens


@pytest.mark.parametrize("time, longest", [(1, 1), (1, 7), (5, 1), (6, 3), (9, 16)])
def test_the_span_is_the_best_of_all_with_its_probability(time, longest):
    rng = np.random.default_rng(time)
    starts, ends = rng.normal(size=(2, 11, time)).astype("float32")
    spans = [(i, j) for i in range(time) for j in range(i, min(time, i + longest))]
    decisions = set()
    for start, end in zip(starts, ends):
        best = max((start[i] + end[j], (i, j)) for i, j in spans)
        for none in (best[0] - 1, best[0] + 1):
            answer = best_answer((start, end, none), longest)
            assert (pytest.approx(best[0]), best[1]) == (answer.score, answer.span)
            total = sum(np.exp(s + e) for s, e in itertools.product(start, end))
            assert np.exp(answer.total) == pytest.approx(total + np.exp(none), 1e-5)
            assert answer.is_answer == (none < best[0])
            decisions.add(answer.is_answer)
    assert decisions == {True, False}


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
