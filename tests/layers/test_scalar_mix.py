"""ScalarMix, the weighted sum of the layers."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.layers import ScalarMix
from tests.support import reference

LAYERS = np.random.default_rng(0).normal(size=(3, 2, 5, 7)).astype("float32")
LISTED = [tf.constant(layer) for layer in LAYERS]
WEIGHTS = [0.5, -1.0, 2.0]


def built(*arguments, **options):
    mix = ScalarMix(*arguments, **options)
    mix(LISTED)
    return mix


@pytest.mark.parametrize("layer_norm", [False, True])
def test_the_learned_mix_is_that_of_the_paper(layer_norm):
    mix = ScalarMix(mix=WEIGHTS, gamma=1.5, layer_norm=layer_norm)
    for i in range(2):
        x = LAYERS[:, i]
        expected = reference.scalar_mix(x, WEIGHTS, 1.5, layer_norm=layer_norm)
        np.testing.assert_allclose(mix(LISTED)[i], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("layers", "weights"),
    [("average", [1 / 3] * 3), ("top", [0, 0, 1]), (-1, [0, 0, 1])],
)
def test_the_output_is_the_sum_weighted_by_the_layer_weights(layers, weights):
    mix = built(layers)
    np.testing.assert_allclose(mix.layer_weights(), weights, atol=1e-6)
    expected = np.einsum("j,jbtd->btd", weights, LAYERS)
    np.testing.assert_allclose(mix(LISTED), expected, atol=1e-6)


def test_padding_of_zeros_stays_zero_with_layer_norm_also_in_float16():
    padded = [tf.pad(x, [[0, 0], [0, 2], [0, 0]]) for x in LISTED]
    mix = ScalarMix(layer_norm=True)
    np.testing.assert_allclose(mix(padded)[:, :5], mix(LISTED), atol=1e-6)
    assert not np.any(mix(padded)[:, 5:])
    half = ScalarMix(layer_norm=True, dtype="float16")
    assert not np.any(half([tf.zeros((1, 2, 4), "float16")] * 2))


def test_the_regularizer_is_of_the_weights_before_the_softmax():
    penalty = keras.regularizers.L2(0.1)
    mix = built(mix=WEIGHTS, regularizer=penalty, gamma=9)
    assert float(sum(mix.losses)) == pytest.approx(0.1 * np.square(WEIGHTS).sum())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": "all"}, "`layers` should be .* Received: 'all'"),
        ({"layers": 3}, "one of 3 layers. Received: 3"),
        ({"mix": [1.0]}, "should have 3 weights"),
        ({"mix": [1.0, np.nan, 0.0]}, "should be finite in float32. Received: "),
        ({"gamma": np.inf}, "should be finite"),
        ({"layers": "average", "mix": WEIGHTS}, "unless `layers`"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ScalarMix(**arguments)(LISTED)
    with pytest.raises(ValueError, match="should hold 3 tensors.*Received: 2"):
        built()(LISTED[:2])


def test_values_can_be_assigned():
    mix = built()
    mix.assign(mix=WEIGHTS)
    np.testing.assert_array_equal(mix.scalars, WEIGHTS)
    assert float(mix.gamma) == 1
    mix.assign(gamma=2.0)
    assert float(mix.gamma) == 2
    for wrong in (
        {"mix": [1, 2]},
        {"mix": [1, 1e39, 0]},
        {"mix": [0] * 3, "gamma": 1e39},
    ):
        with pytest.raises(ValueError, match="one for each layer|should be finite"):
            mix.assign(**wrong)
    np.testing.assert_array_equal(mix.scalars, WEIGHTS)
