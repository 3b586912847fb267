"""Spans that end within their last token."""

from types import SimpleNamespace
from unicodedata import normalize

import numpy as np
import pytest

from elmo_keras.heads.annotate import formats
from elmo_keras.heads.tagger.span_ends import SHAPE, SpanEnds
from elmo_keras.heads.texts import Labelled, read_text

PARTICLES = {"이": 1, "은": 1, "에서": 2, "에서는": 3}
NAMES = "손흥민 박지성 이순신 토트넘 서울 부산 대전".split()
EXAMPLES = [(name + p, "PS", n) for name in NAMES[:5] for p, n in PARTICLES.items()]


def test_particles_that_were_learned_are_left_out_of_new_names_too():
    ends = SpanEnds.fit([*EXAMPLES, *((name, "PS", 0) for name in NAMES)])
    assert all(ends(token, "PS") == n for token, _, n in EXAMPLES)
    assert [ends(f"부산{p}", "PS") for p in PARTICLES] == [*PARTICLES.values()]


def test_something_of_a_token_is_left():
    always = SpanEnds(np.tile(np.arange(SHAPE[1], dtype="float32"), (SHAPE[0], 1)))
    assert [always("가나다"[:n], "PS") for n in (1, 2, 3)] == [0, 1, 2]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_result_ends_before_what_is_left_out_in_the_text_as_it_came(form):
    source = normalize(form, "오늘 손흥민이 왔다")
    result = read_text(0, source).result(0, Labelled("PS", 1, 2, 1.0, left_out=1))
    assert normalize("NFC", result["text"]) == "손흥민"
    assert source[result["start"] : result["end"]] == result["text"]


def test_an_acronym_at_the_end_of_a_sentence_has_its_last_dot():
    for source, expected in (("In the U.S.", "U.S."), ("In the US.", "US")):
        text = read_text(0, source, "ewt")
        entity = text.entity(0, Labelled("LOC", 2, 3, 1.0))
        assert entity["text"] == expected == source[entity["start"] : entity["end"]]
    tokens = read_text(0, ["In", "the", "U.S", "."])
    assert tokens.entity(0, Labelled("LOC", 2, 3, 1.0))["end"] == 3


def test_tokens_of_the_user_stay_whole():
    text = read_text(0, ["손흥민이", "왔다"])
    assert text.result(0, Labelled("PS", 0, 1, 1.0, left_out=1))["text"] == "손흥민이"


def test_pages_and_terminals_close_an_entity_before_what_is_left_out():
    text = read_text(0, "오늘 손흥민이 왔다")
    predictions: list = [[[Labelled("PS", 1, 2, 1.0, left_out=1)]]]
    pipelines: list = [SimpleNamespace(type="entities", labels=["PS"])]
    shown = formats.terminal(text, pipelines, predictions, color=False)
    assert shown == "오늘 [손흥민 PS]이 왔다\n"
    page = formats.html_paragraph(text, pipelines, predictions)
    assert '오늘 <mark class="t0">손흥민 <b>PS</b></mark>이 왔다' in page
