"""Scores that are the shares of right answers."""

import numpy as np
import pytest

from elmo_keras import pipeline
from elmo_keras.pipelines.calibration import (
    calibration_error,
    fit_temperature,
    reliability,
)
from elmo_keras.pipelines.pipeline import _keras_pipeline
from elmo_keras.tasks.head_files import keras_model, read_head

pytestmark = pytest.mark.usefixtures("eagerly")
TEXT = "The bank of Ann . Ann saw the bank ."


def ask(pipe, kind):
    if kind == "doubting":
        return [pipe(question="Who saw the bank ?", context=TEXT)]
    answers = pipe(TEXT)
    return answers if isinstance(answers, list) else [answers]


@pytest.mark.parametrize("kind", "pos ner plain sentiment emotions doubting".split())
def test_a_temperature_changes_scores_in_both_engines_and_no_answer(head, kind):
    cold = ask(pipeline(head(kind)), kind)
    folder = head(kind, temperature=3.0)
    warm = ask(pipeline(folder), kind)
    assert cold, "the head finds something"
    names = "text", "label", "start", "end"
    plain = [[answer.get(name) for name in names] for answer in cold]
    assert [[answer.get(name) for name in names] for answer in warm] == plain
    assert all(a["score"] != pytest.approx(b["score"]) for a, b in zip(cold, warm))

    exact = _keras_pipeline("exact", keras_model(read_head(folder)))
    for a, b in zip(warm, ask(exact, kind), strict=True):
        assert a["score"] == pytest.approx(b["score"], abs=0.02)


@pytest.mark.parametrize("temperature", [0, "warm", 1e9])
def test_a_damaged_temperature_is_refused(head, temperature):
    with pytest.raises(ValueError, match="temperature"):
        pipeline(head("pos", temperature=temperature))


def test_the_temperature_that_scores_need_is_found():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, 4000)
    right = rng.random(4000) < 1 / (1 + np.exp(-logits))

    def answer(temperature):  # of a model that is three times too sure
        p = 1 / (1 + np.exp(-3 * logits / temperature))
        return np.maximum(p, 1 - p), right == (p > 0.5)

    found = fit_temperature(answer)
    assert found == pytest.approx(3, abs=0.2)
    before, after = (calibration_error(*answer(t)) for t in (1.0, found))
    assert after < 0.02 < 0.05 < before


def test_bins_have_the_mean_score_and_the_share_of_right_answers():
    scores, right = np.array([0.5, 0.7, 0.99, 1.0]), np.array([0, 1, 1, 0])
    assert reliability(scores, right, (0.75, 0.9, 1.0)) == [
        (0.75, 2, 0.6, 0.5),
        (1.0, 2, 0.995, 0.5),
    ]
    assert calibration_error(scores[:2], right[:2]) == pytest.approx(0.4)
