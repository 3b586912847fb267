"""Numbers of a head make its scores the shares of right answers."""

import numpy as np
import pytest

from elmo_keras import pipeline
from elmo_keras.heads.head import keras_model, read_head
from elmo_keras.heads.kinds import load
from elmo_keras.heads.texts import join

pytestmark = pytest.mark.usefixtures("eagerly")
TEXT = "The bank of Ann . Ann saw the bank ."


def ask(pipe, kind):
    if kind == "doubting":
        return [pipe(question="Who saw the bank ?", context=TEXT)]
    answers = pipe(TEXT)
    if kind == "coref":
        return join(answers)
    return answers if isinstance(answers, list) else [answers]


@pytest.mark.parametrize(
    "kind",
    [
        "ner",
        "emotions",
        "ud",
        "coref",
        pytest.param("doubting", marks=pytest.mark.journey),
    ],
)
def test_a_temperature_changes_scores_in_both_engines_and_no_answer(head, kind):
    cold = ask(pipeline(head(kind)), kind)
    folder = head(kind, temperature=3.0)
    warm = ask(pipeline(folder), kind)
    assert cold, "the head finds something"
    names = "text", "label", "start", "end", "head", "deprel"
    plain = [[answer.get(name) for name in names] for answer in cold]
    assert [[answer.get(name) for name in names] for answer in warm] == plain
    assert all(a["score"] != pytest.approx(b["score"]) for a, b in zip(cold, warm))

    scaled = read_head(folder)
    make, name = load(scaled.kind.pipeline), scaled.kind.name
    exact = make("exact", keras_model(scaled), kind=name)
    for a, b in zip(warm, ask(exact, kind), strict=True):
        assert a["score"] == pytest.approx(b["score"], abs=0.02)


def test_a_slope_and_a_bias_change_the_odds_of_words_in_trees(head):
    plain = pipeline(head("ud"))(TEXT)
    folder = head("ud", score_slope=0.5, score_bias=0.25)
    calibrated = pipeline(folder)(TEXT)
    odds, changed = (
        np.log([word["score"] / (1 - word["score"]) for word in words])
        for words in (plain, calibrated)
    )
    np.testing.assert_allclose(changed, 0.5 * odds + 0.25, rtol=1e-4)
    assert [w | {"score": 0} for w in calibrated] == [w | {"score": 0} for w in plain]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("temperature", x) for x in (0, "warm", 1e9)],
        ("score_slope", -1.0),
        ("score_bias", 1e9),
    ],
)
def test_damaged_numbers_are_refused(head, name, value):
    with pytest.raises(ValueError, match=name):
        pipeline(head("pos", **{name: value}))
