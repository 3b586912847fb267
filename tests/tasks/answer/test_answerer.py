"""The model that answers questions, and its command."""

import itertools
import json
import os

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks.answer.answerer import NO_ANSWER, NOT_KNOWN, Answerer
from elmo_keras.tasks.answer.task import TASK
from elmo_keras.tasks.experiments.experiment import main
from tests.support.task_models import (
    built,
    check_given_layers,
    check_loaded,
    text_inputs,
    token_vectors,
)

NAMES = ["Ann", "Bob", "Cem", "Dora", "Eun", "Fay"]
TOWNS = ["Rome", "Paris", "Busan", "Lima", "Oslo", "Kyiv"]
CONTEXTS = [["Ann", "saw", "Bob", "in", "Rome"], ["Fay", "?"], ["a", "b", "c"]]
QUESTIONS = [["Who", "?"], ["Where", "is", "Fay"], ["x"]]
INPUTS = text_inputs(context=CONTEXTS, question=QUESTIONS)


def answerer(elmo_at, unanswerable):
    vectors = token_vectors(elmo_at, words=["ann", "who"])
    return built(Answerer(vectors, unanswerable, units=3, dropout=0.0))


@pytest.fixture(scope="module")
def model():
    """A model with ELMo, for questions of which some have no answer."""
    return answerer("both", unanswerable=True)


@pytest.fixture(scope="module")
def plain_model():
    """A model without ELMo, for questions that all have answers."""
    return answerer(None, unanswerable=False)


@pytest.fixture(scope="module")
def outputs(model):
    return model(INPUTS)


@pytest.fixture(scope="module")
def plain_outputs(plain_model):
    return plain_model(INPUTS)


@pytest.mark.parametrize("unanswerable", [False, True])
def test_the_loss_is_minus_log_p_among_all_pairs_of_ends(
    unanswerable, model, outputs, plain_model, plain_outputs
):
    if not unanswerable:
        model, outputs = plain_model, plain_outputs
    starts, ends, none = (x.numpy() for x in outputs)
    labels = [(2, 4), (NO_ANSWER, NO_ANSWER), (NOT_KNOWN, NOT_KNOWN)]
    losses = []
    for b, (first, last) in enumerate(labels[: 1 + unanswerable]):
        n = len(CONTEXTS[b])
        pairs = itertools.product(starts[b, :n], ends[b, :n])
        total = sum(np.exp(s + e) for s, e in pairs) + unanswerable * np.exp(none[b])
        right = none[b] if first < 0 else starts[b, first] + ends[b, last]
        losses.append(np.log(total) - right)
    actual = model.compute_loss(INPUTS, tf.constant(labels), outputs)
    assert float(actual) == pytest.approx(np.mean(losses), rel=1e-5)


def test_padding_changes_no_score(model, outputs):
    alone = text_inputs(context=CONTEXTS[1:2], question=QUESTIONS[1:2])
    starts, ends, none = model(alone)
    np.testing.assert_allclose(outputs[0][1, :2], starts[0], atol=1e-5)
    np.testing.assert_allclose(outputs[1][1, :2], ends[0], atol=1e-5)
    np.testing.assert_allclose(outputs[2][1], none[0], atol=1e-5)
    assert np.all(outputs[0][1, 2:] < -1e8) and np.all(outputs[1][1, 2:] < -1e8)


def test_given_layers_replace_the_language_model(model, outputs):
    check_given_layers(model, INPUTS, expected=outputs)


def test_a_loaded_model_answers_the_same(model, outputs, tmp_path):
    loaded = check_loaded(model, INPUTS, tmp_path, expected=outputs)
    text = "Ann met Bob (of Busan) in 2018, didn't she?"
    assert loaded.answer(text, "Where?") in text
    with pytest.raises(ValueError, match="at least one word. Received: ' ' and"):
        model.answer(" ", "Who?")


def test_a_graph_predicts_the_same(plain_model, plain_outputs):
    expected = plain_model.decode(INPUTS, plain_outputs)
    graph = tf.function(plain_model.predict_step)
    np.testing.assert_array_equal(graph((INPUTS,)), expected)


def town_questions(n, rng):
    """Who moved, and where to; every third question is about something else."""
    paragraphs = []
    for i in range(n):
        (moved, other), town = rng.permutation(NAMES)[:2], rng.choice(TOWNS)
        context = f"{moved} moved to {town} with {other}."
        asked, answer = [
            ("Who moved?", moved),
            ("Where to?", town),
            ("How old?", None),
        ][i % 3]
        answers = (
            [{"text": answer, "answer_start": context.index(answer)}] if answer else []
        )
        question = {"id": str(i), "question": asked, "answers": answers}
        question["is_impossible"] = not answers
        paragraphs.append({"context": context, "qas": [question]})
    return {"version": "v2.0", "data": [{"paragraphs": paragraphs}]}


def write_towns(folder, **sizes):
    rng = np.random.default_rng(0)
    for name, size in sizes.items():
        (folder / f"{name}.json").write_text(json.dumps(town_questions(size, rng)))


@pytest.mark.slow
def test_the_command_learns_who_moved_and_where_to(tmp_path, capsys):
    write_towns(tmp_path, train=300, dev=48)
    output = tmp_path / "out"
    options = (
        f"--train {tmp_path}/train.json --dev {tmp_path}/dev.json --output {output}"
    )
    options += " --units 20 --word-dim 20 --character-dim 2 --dropout 0 --epochs 4"
    options += " --learning-rate 0.01 --layer-dropout 0 --batch-size 16"
    assert main(TASK, None, options.split()) == 0
    (record,) = json.loads((output / "results.json").read_text())
    with capsys.disabled():
        print(f"\nQuestions about towns: {record['dev']}, {record['seconds']} s")
    # By chance: one of three questions.
    assert record["dev"]["exact match"] > 0.8 and record["dev"]["no answer"] > 0.8
    model = keras.models.load_model(output / "baseline-1.keras")
    assert model.answer("Dora moved to Lima with Bob.", "Who moved?") == "Dora"


def test_a_malformed_file_ends_the_command_before_anything_is_written(tmp_path, capsys):
    write_towns(tmp_path, train=3)
    (tmp_path / "bad.json").write_text('{"data": [\n  {"paragraphs": [}]}')
    options = f"--train {tmp_path}/train.json --dev {tmp_path}/bad.json"
    options += f" --output {tmp_path}/out"
    assert main(TASK, None, options.split()) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and f"{tmp_path}/bad.json:2: JSON is" in error
    assert sorted(os.listdir(tmp_path)) == ["bad.json", "train.json"]
