"""The text classifier."""

import numpy as np
import pytest

from elmo_keras.tasks.classify import __main__ as task
from elmo_keras.tasks.classify.classifier import TextClassifier
from elmo_keras.tasks.layers.token_vectors import TokenVectors
from tests.support.task_models import (
    WORDS,
    assert_same,
    built,
    check_given_layers,
    check_loaded,
    check_padding,
    column,
    learned,
    random_texts,
    text_inputs,
    token_vectors,
)

TEXTS = [["ein", "drei", "neu"], ["zwei"], [], ["sechs", "ein", "ein", "vier"]]
INPUTS = text_inputs(tokens=TEXTS)


@pytest.fixture(scope="module")
def classifier():
    return built(TextClassifier(token_vectors("both", l2=2.0), ["a", "b"], units=3))


@pytest.fixture(scope="module")
def multi_label():
    labels = ["a", "b", "c"]
    return built(TextClassifier(token_vectors(), labels, multi_label=True, units=3))


@pytest.fixture(scope="module")
def outputs(classifier):
    return classifier(INPUTS)


@pytest.fixture(scope="module")
def multi_label_outputs(multi_label):
    return multi_label(INPUTS)


def test_padding_and_other_examples_change_nothing(classifier, outputs):
    check_padding(classifier, INPUTS, expected=outputs)


def test_given_layers_replace_the_language_model(classifier, outputs):
    check_given_layers(classifier, INPUTS, expected=outputs)


def test_a_saved_model_classifies_strings_the_same(classifier, outputs, tmp_path):
    loaded = check_loaded(classifier, INPUTS, tmp_path, expected=outputs)
    best = np.array(outputs).argmax(axis=1)
    assert loaded.classify(TEXTS) == [["a", "b"][i] for i in best]


def test_a_saved_multi_label_model_gives_lists_of_labels(
    multi_label, multi_label_outputs, tmp_path
):
    loaded = check_loaded(multi_label, INPUTS, tmp_path, expected=multi_label_outputs)
    assert loaded.multi_label and loaded.labels == ["a", "b", "c"]
    expected = multi_label.decide(np.array(multi_label_outputs))
    assert loaded.classify(TEXTS) == expected
    assert any(expected)


def test_the_key_of_multi_label_in_saved_files_is_several(multi_label):
    assert multi_label.get_config()["several"] is True


def test_a_label_of_multi_label_texts_needs_a_probability_of_three_tenths(multi_label):
    probabilities = np.array([[0.31, 0.29, 0.1], [0.9, 0.3, 0.0], [0.1, 0.2, 0.0]])
    assert multi_label.decide(probabilities) == [["a"], ["a", "b"], []]


def test_the_losses_by_hand(multi_label):
    y_pred = np.array([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]], "float32")
    one = TextClassifier(TokenVectors(), ["a", "b", "c"], units=2)
    loss = one.compute_loss(y=np.array([0, 2]), y_pred=y_pred)
    assert float(loss) == pytest.approx(-np.log([0.5, 0.8]).mean(), rel=1e-5)
    y = np.array([[1, 0, 1], [0, 0, 0]], "float32")
    p = np.where(y == 1, y_pred, 1 - y_pred)
    loss = multi_label.compute_loss(y=y, y_pred=y_pred)
    assert float(loss) == pytest.approx(-np.log(p).mean(), rel=1e-5)


def test_the_penalty_of_the_mixes_is_in_the_loss(classifier):
    y, y_pred = np.array([1]), np.array([[0.5, 0.5]], "float32")
    mixes = classifier.token_vectors.elmo.mixes
    penalty = 2.0 * sum(float(np.sum(mix.scalars.numpy() ** 2)) for mix in mixes)
    assert penalty > 0.1
    classifier(text_inputs(tokens=[["ein"]]))
    loss = float(classifier.compute_loss(y=y, y_pred=y_pred))
    assert loss == pytest.approx(np.log(2) + penalty, rel=1e-4)


def test_a_graph_predicts_the_same(multi_label, multi_label_outputs):
    model = TextClassifier.from_config(multi_label.get_config())
    model.build()
    model.set_weights(multi_label.get_weights())
    # A graph may sum products in another order.
    assert_same(model.predict(INPUTS, verbose=0), np.array(multi_label_outputs), 1e-6)


def with_one_label(n, rng):
    """Whether a text has "ein"."""
    return [{"tokens": t, "label": str("ein" in t)} for t in random_texts(n, rng)]


def with_several_labels(n, rng):
    """Which of two words a text has."""
    return [
        {"tokens": t, "labels": [word for word in WORDS[:2] if word in t]}
        for t in random_texts(n, rng)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "labels, multi_label, examples",
    [
        (["False", "True"], False, with_one_label),
        (WORDS[:2], True, with_several_labels),
    ],
)
def test_it_learns_whether_a_text_has_a_word(labels, multi_label, examples):
    rng = np.random.default_rng(0)
    train, held_out = examples(300, rng), examples(80, rng)
    model = TextClassifier(token_vectors(), labels, multi_label, units=7)
    losses, score = learned(task.TASK, model, train, held_out)
    assert min(losses) < losses[0] / 2 and score > 0.95
    answers = model.classify(column(held_out, "tokens"))
    wanted = [e["labels"] if multi_label else e["label"] for e in held_out]
    assert sum(a == w for a, w in zip(answers, wanted)) > 0.9 * len(held_out)
