"""A dense layer in int8."""

import numpy as np

from elmo_keras.lite.layers import LiteDense


def test_rows_are_those_of_a_dense_layer_in_any_batch():
    rng = np.random.default_rng(0)
    kernel, bias = rng.normal(size=(37, 11)), rng.normal(size=11)
    x = rng.normal(size=(131, 37)).astype(np.float32)
    dense = LiteDense(kernel.astype(np.float32), bias)
    np.testing.assert_allclose(
        dense(x), x @ kernel + bias, atol=0.3
    )  # of sums up to 20
    np.testing.assert_array_equal(dense(x[64:70]), dense(x)[64:70])
    assert dense(x[:0]).shape == (0, 11)
