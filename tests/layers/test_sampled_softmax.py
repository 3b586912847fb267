"""The sampled softmax, against TensorFlow's."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.layers.sampled_softmax import sampled_softmax_losses
from elmo_keras.training.streams import draw_negatives

TOKENS, DIM, SIZE, N = 11, 5, 17, 6


def case(dtype=tf.float32):
    """Inputs, kernel, bias, and a dict of targets, negatives, log expected counts."""
    rng = np.random.default_rng(3)
    negatives = draw_negatives(rng, N, SIZE)
    targets = rng.integers(SIZE, size=TOKENS)
    targets[:2] = negatives.ids[[0, -1]]  # two tokens whose targets are drawn
    return (
        tf.constant(rng.normal(size=(TOKENS, DIM)), dtype),
        tf.constant(rng.normal(size=(SIZE, DIM)), tf.float32),
        tf.constant(rng.normal(size=SIZE), tf.float32),
        {
            "targets": tf.constant(targets, tf.int32),
            "negatives": tf.constant(negatives.ids, tf.int32),
            "log_expected": tf.constant(negatives.log_expected_counts(np.arange(SIZE))),
        },
    )


def tensorflows(inputs, kernel, bias, *, targets, negatives, log_expected):
    expected = tf.exp(log_expected)
    labels = tf.cast(targets, tf.int64)[:, None]
    values = (
        tf.cast(negatives, tf.int64),
        tf.gather(expected, labels),
        tf.gather(expected, negatives),
    )
    n, size = len(negatives), len(kernel)
    arguments = kernel, bias, labels, inputs, n, size
    return tf.nn.sampled_softmax_loss(*arguments, sampled_values=values)


def losses_and_gradients(function, arguments):
    inputs, kernel, bias, drawn = arguments
    upstream = tf.linspace(0.5, 2.0, len(inputs))  # each token's gradient matters
    with tf.GradientTape() as tape:
        tape.watch([inputs, kernel, bias])
        losses = function(inputs, kernel, bias, **drawn)
        total = tf.reduce_sum(tf.cast(losses, tf.float32) * upstream)
    gradients = tape.gradient(total, [inputs, kernel, bias])
    return [losses, *map(tf.convert_to_tensor, gradients)]


@pytest.mark.parametrize("drawn", [True, False])
@pytest.mark.parametrize("wrapped", [lambda f: f, tf.function])
def test_losses_and_gradients_are_those_of_tensorflow(wrapped, drawn):
    arguments = case()
    sampled = arguments[3]
    if not drawn:
        others = np.setdiff1d(np.arange(SIZE), sampled["negatives"])
        sampled["targets"] = tf.constant(np.resize(others, TOKENS), tf.int32)
    hits = np.isin(sampled["targets"], sampled["negatives"])
    assert (2 if drawn else 0) <= hits.sum() < (TOKENS if drawn else 1)
    actual = losses_and_gradients(wrapped(sampled_softmax_losses), arguments)
    expected = losses_and_gradients(tensorflows, arguments)
    for a, b in zip(actual, expected, strict=True):
        assert a.dtype == tf.float32
        # The bias goes through the product here and is added there.
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_bfloat16_is_near_float32():
    exact = losses_and_gradients(sampled_softmax_losses, case())
    actual = losses_and_gradients(sampled_softmax_losses, case(dtype=tf.bfloat16))
    half = [a.dtype == tf.bfloat16 for a in actual]
    assert half == [False, True, False, False]
    for a, b in zip(actual, exact, strict=True):
        # 8 bits of precision in logits of up to about 8, so 0.03 in each.
        np.testing.assert_allclose(tf.cast(a, tf.float32), b, atol=0.1)
