"""A temperature of a head divides the logits of its scores."""

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


@pytest.mark.parametrize("temperature", [0, "warm", 1e9])
def test_a_damaged_temperature_is_refused(head, temperature):
    with pytest.raises(ValueError, match="temperature"):
        pipeline(head("pos", temperature=temperature))
