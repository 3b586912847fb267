"""Training ends when it no longer gets better, with the weights of the best epoch."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.heads.best_epoch import fit_until_best


class Line:
    """Batches of points on a line."""

    def shuffled(self, seed, epoch):
        x = np.float32([[1.0], [2.0], [3.0], [4.0]])
        return tf.data.Dataset.from_tensor_slices((x, 2 * x)).batch(2)


class OneStep(Line):
    """The first batch alone, whose loss is computed before the step."""

    def shuffled(self, seed, epoch):
        return super().shuffled(seed, epoch).take(1)


@pytest.fixture
def model():
    model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="zeros")])
    model.compile(keras.optimizers.SGD(0.01), loss="mse", run_eagerly=True)
    model.build((None, 1))
    return model


def no_f1():
    return {"F1": 0.0}, None


def test_training_ends_when_the_score_no_longer_rises(model):
    scores = iter([0.0, 0.5, 0.4, 0.4, 0.9])
    weights, saved = [], []

    def score():
        weights.append(model.get_weights()[0])
        return {"F1": next(scores)}, len(weights)

    def save():
        saved.append(len(weights))

    best = fit_until_best(model, Line(), score, epochs=9, patience=2, save=save)
    results = best.results
    assert (results["best_epoch"], results["epochs"], best.predictions) == (2, 4, 2)
    assert results["dev"] == {"F1": 0.5} and len(results["losses"]) == 4
    np.testing.assert_array_equal(model.get_weights()[0], weights[1])
    assert np.any(weights[1] != weights[3]) and saved == [1, 2]


def test_a_score_may_calibrate_the_model_that_is_kept_and_not_training(model):
    bias = model.layers[0].bias
    fit_until_best(model, Line(), no_f1, epochs=3, patience=3)
    expected = bias.numpy()
    for variable in model.weights:
        variable.assign(tf.zeros_like(variable))

    def score():
        bias.assign_add([7.0])
        return no_f1()

    fit_until_best(model, Line(), score, epochs=3, patience=3)
    np.testing.assert_allclose(bias.numpy(), expected + 7, rtol=1e-6)


def test_training_continues_with_equal_scores_and_a_falling_loss(model):
    results = fit_until_best(model, Line(), no_f1, epochs=3, patience=1).results
    losses = results["losses"]
    assert losses == sorted(losses, reverse=True) and results["best_epoch"] == 3


def test_a_score_that_is_no_number_is_worse_than_any(model):
    scores = iter([np.nan, 0.1, np.nan])
    best = fit_until_best(
        model, Line(), lambda: ({"F1": next(scores)}, None), epochs=3, patience=3
    )
    assert best.results["best_epoch"] == 2 and best.results["dev"] == {"F1": 0.1}


def test_weights_that_are_no_numbers_are_an_error(model):
    model.optimizer.learning_rate = np.inf
    with pytest.raises(FloatingPointError, match="after epoch 1 are not finite"):
        fit_until_best(model, OneStep(), no_f1, epochs=1, patience=1)


def test_a_loss_that_is_not_a_number_is_an_error(model):
    model.layers[0].bias.assign([np.nan])
    with pytest.raises(FloatingPointError, match="loss of epoch 1 is nan"):
        fit_until_best(model, Line(), no_f1, epochs=2, patience=2)
