"""Training that ends when the score no longer rises."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks.experiments.fitting import fit_until_best


class Line:
    """Batches of points on a line."""

    def shuffled(self, seed, epoch):
        x = np.float32([[1.0], [2.0], [3.0], [4.0]])
        return tf.data.Dataset.from_tensor_slices((x, 2 * x)).batch(2)


@pytest.fixture
def model():
    model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="zeros")])
    model.compile(keras.optimizers.SGD(0.01), loss="mse", run_eagerly=True)
    model.build((None, 1))
    return model


def test_training_ends_when_the_score_no_longer_rises(model):
    found = iter([0.0, 0.5, 0.4, 0.4, 0.9])
    kept = []

    def score():
        kept.append(model.get_weights()[0])
        return {"F1": next(found)}

    fitted = fit_until_best(model, Line(), score, epochs=9, patience=2)
    assert (fitted.best_epoch, fitted.epochs) == (2, 4)
    assert fitted.scores == {"F1": 0.5} and len(fitted.losses) == 4
    np.testing.assert_array_equal(model.get_weights()[0], kept[1])
    assert np.any(kept[1] != kept[3])


def test_training_continues_with_equal_scores_and_a_falling_loss(model):
    fitted = fit_until_best(model, Line(), lambda: {"F1": 0.0}, epochs=3, patience=1)
    assert fitted.losses == sorted(fitted.losses, reverse=True)
    assert fitted.best_epoch == 3


def test_a_loss_that_is_not_a_number_is_an_error(model):
    model.layers[0].bias.assign([np.nan])
    with pytest.raises(FloatingPointError, match="loss of epoch 1 is nan"):
        fit_until_best(model, Line(), dict, epochs=2, patience=2)
