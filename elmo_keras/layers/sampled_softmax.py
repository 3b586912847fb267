"""The sampled softmax: a cross entropy over the target and sampled negatives."""

import math

import tensorflow as tf

from elmo_keras.layers.loops import compiled

LANES = 128


def sampled_softmax_losses(inputs, kernel, bias, *, targets, negatives, log_expected):
    """Cross entropy of each token over its target and the negatives, in nats.

    `kernel` and `bias` are the rows of the softmax for all candidates, of which `targets`
    (tokens,) and `negatives`, which are distinct, are indices. `log_expected` is the log
    of how often the sampler is expected to draw each, which is subtracted from its logit.
    A negative that is a token's target is left out for this token. The loss is below that
    of the full softmax and is no measure of perplexity.

    Reference: Jean et al. 2015; TensorFlow's `sampled_softmax_loss`.
    """
    kernel = tf.cast(kernel, inputs.dtype)
    bias = tf.cast(bias, tf.float32) - log_expected
    pair = [tf.cast(x, tf.float32) for x in (inputs, tf.gather(kernel, targets))]
    true = tf.reduce_sum(tf.multiply(*pair), axis=1) + tf.gather(bias, targets)
    # The index of each token's target among the negatives, `n_negatives` if absent.
    n_negatives = tf.size(negatives)
    index = tf.fill([tf.size(bias)], n_negatives)
    index = tf.tensor_scatter_nd_update(
        index, negatives[:, None], tf.range(n_negatives)
    )
    # int64 stays on the GPU; with int32 the host would wait.
    hits = tf.gather(tf.cast(index, tf.int64), targets)
    kernel, bias = tf.gather(kernel, negatives), tf.gather(bias, negatives)
    return _losses(inputs, kernel, bias, true, hits)


@tf.custom_gradient
def _losses(*arguments):
    """Losses of tokens whose targets have the logits `true` and, if drawn, the index `hits`.

    The matrix of logits is the largest tensor of a training step. The gradient of a
    logit is its share of the sum of all exponentials, so the exponentials are kept, and
    only the products with them are divided by the sum.
    """
    inputs, kernel, bias, true, hits = arguments
    dtype = inputs.dtype
    wide = tf.concat([inputs, tf.ones_like(inputs[:, :1])], axis=1)
    table = tf.concat([kernel, tf.cast(bias, dtype)[:, None]], axis=1)
    logits = tf.matmul(wide, tf.transpose(table))
    highest = tf.maximum(tf.cast(tf.reduce_max(logits, axis=1), true.dtype), true)
    powers, total, true_power = compiled(_exponentials)(
        logits, hits, highest, true=true
    )

    def gradient(upstream):
        share = tf.cast((upstream / total)[:, None], dtype)
        d_inputs = tf.matmul(powers, kernel) * share
        # The small matrix is the one to be transposed.
        d_table = tf.transpose(tf.matmul(wide * share, powers, transpose_a=True))
        d_true = (true_power / total - 1) * upstream
        d_kernel, d_bias = d_table[:, :-1], tf.cast(d_table[:, -1], bias.dtype)
        return d_inputs, d_kernel, d_bias, d_true, None

    return highest + tf.math.log(total) - true, gradient


def _exponentials(logits, hits, highest, *, true):
    """exp(logits − highest), 0 for hits; their sum with the target's; the target's."""
    powers = tf.exp(tf.cast(logits, highest.dtype) - highest[:, None])
    powers *= tf.one_hot(hits, logits.shape[1], on_value=0.0, off_value=1.0)
    true_power = tf.exp(true - highest)
    # A sum over the last axis is not vectorized, one over another axis is.
    lanes = math.gcd(powers.shape[1], LANES)
    sums = tf.reduce_sum(tf.reshape(powers, [powers.shape[0], -1, lanes]), axis=1)
    total = tf.reduce_sum(sums, axis=1) + true_power
    return tf.cast(powers, logits.dtype), total, true_power
