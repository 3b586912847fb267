"""The entailment model."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks.entail import __main__ as task
from elmo_keras.tasks.entail.esim import ESIM
from tests.support.task_models import (
    built,
    check_given_layers,
    check_loaded,
    check_padding,
    learned,
    random_texts,
    text_inputs,
    token_vectors,
)

LABELS = ["no", "maybe", "yes"]
PREMISES = [["ein", "drei", "neu"], ["zwei"], [], ["sechs", "ein", "vier"]]
HYPOTHESES = [["drei"], ["vier", "ein"], [], ["zwei", "zwei"]]


@pytest.fixture(scope="module")
def esim():
    return built(ESIM(token_vectors("both"), LABELS, units=3))


@pytest.fixture(scope="module")
def inputs():
    return text_inputs(premise=PREMISES, hypothesis=HYPOTHESES)


@pytest.fixture(scope="module")
def outputs(esim, inputs):
    return esim(inputs)


def test_padding_and_other_examples_change_nothing(esim, inputs, outputs):
    check_padding(esim, inputs, expected=outputs)


def test_given_layers_replace_the_language_model(esim, inputs, outputs):
    check_given_layers(esim, inputs, expected=outputs)


def test_a_saved_model_judges_strings_the_same(esim, inputs, outputs, tmp_path):
    loaded = check_loaded(esim, inputs, tmp_path, expected=outputs)
    expected = np.array(outputs).argmax(axis=1)
    assert loaded.judge(PREMISES, HYPOTHESES) == [LABELS[i] for i in expected]


def test_a_graph_predicts_the_same(inputs):
    esim = built(ESIM(token_vectors(), LABELS, units=3))
    graph = tf.function(esim.predict_step)
    # A graph may sum products in another order.
    np.testing.assert_allclose(graph((inputs,)), esim(inputs), atol=1e-6)


def test_it_matters_which_sentence_is_the_premise(esim, outputs):
    exchanged = text_inputs(premise=HYPOTHESES, hypothesis=PREMISES)
    assert np.abs(np.array(outputs) - np.array(esim(exchanged))).max() > 1e-4


def entailments(n, rng):
    """Whether the premise has the hypothesis's word."""
    premises, hypotheses = random_texts(n, rng), random_texts(n, rng, longest=1)
    return [
        {"premise": p, "hypothesis": h, "label": str(h[0] in p)}
        for p, h in zip(premises, hypotheses)
    ]


@pytest.mark.slow
def test_it_learns_whether_the_premise_has_the_hypothesis():
    rng = np.random.default_rng(0)
    train, held_out = entailments(300, rng), entailments(80, rng)
    model = ESIM(token_vectors(), ["False", "True"], units=11, dropout=0.0)
    losses, score = learned(task.TASK, model, train, held_out)
    assert min(losses) < losses[0] / 2 and score > 0.9
