"""The sampled softmax: a cross entropy over the target and sampled negatives."""

import tensorflow as tf


def sampled_softmax_losses(inputs, kernel, bias, *, targets, negatives, log_expected):
    """Cross entropy of each token over its target and the negatives, in nats.

    The log of how often the sampler is expected to draw a word is subtracted from
    its logit; a negative that is a token's target is left out for this token. The
    loss is below that of the full softmax and is no measure of perplexity.

    Args:
        inputs: float tensor `(tokens, dim)`.
        kernel, bias: `(candidates, dim)`, `(candidates,)`, the rows of the softmax
            for all targets and negatives.
        targets: int32 `(tokens,)`, indices of candidates.
        negatives: int32 `(negatives,)`, distinct indices of candidates.
        log_expected: float `(candidates,)`, log of the expected counts.

    Returns:
        float32 `(tokens,)`.

    Reference: Jean et al. 2015; TensorFlow's `sampled_softmax_loss`.
    """
    kernel = tf.cast(kernel, inputs.dtype)
    bias = tf.cast(bias, tf.float32) - log_expected
    true = tf.einsum(
        "td,td->t",
        *(tf.cast(x, tf.float32) for x in (inputs, tf.gather(kernel, targets))),
    )
    true += tf.gather(bias, targets)
    # The index of each token's target among the negatives, `n_negatives` if absent.
    n_negatives = tf.size(negatives)
    place = tf.fill([tf.size(bias)], n_negatives)
    place = tf.tensor_scatter_nd_update(
        place, negatives[:, None], tf.range(n_negatives)
    )
    # int64 stays on the GPU; with int32 the host would wait.
    hits = tf.gather(tf.cast(place, tf.int64), targets)
    kernel, bias = tf.gather(kernel, negatives), tf.gather(bias, negatives)
    return _losses(inputs, kernel, bias, true, hits)


@tf.custom_gradient
def _losses(*arguments):
    """Losses of tokens `(tokens,)` whose targets have the logits `true`.

    Each token leaves out its negative in `hits` `(tokens,)`. The matrix of logits is
    the largest tensor of a training step. It is written once, changed in place, and
    read by one fused operation, whose second result is the gradient up to a factor
    for each row.
    """
    inputs, kernel, bias, true, hits = arguments
    n_tokens, n_negatives = tf.shape(inputs)[0], tf.shape(kernel)[0]
    wide = tf.concat([inputs, tf.ones((n_tokens, 1), inputs.dtype)], axis=1)
    table = tf.concat([kernel, tf.cast(bias, kernel.dtype)[:, None]], axis=1)
    table = tf.pad(table, [[0, 1], [0, 0]])  # a last column, for the target
    logits = tf.cast(tf.matmul(wide, table, transpose_b=True), tf.float32)
    target = tf.fill([n_tokens], n_negatives)
    # Without a hit the target's logit is written twice, so that no size depends on
    # the data.
    columns = tf.concat([tf.cast(target, tf.int64), hits], axis=0)
    rows = tf.range(2 * n_tokens) % n_tokens
    places = tf.stack([tf.cast(rows, tf.int64), columns], axis=1)
    hit = hits < tf.cast(n_negatives, tf.int64)
    values = tf.concat([true, tf.where(hit, logits.dtype.min, true)], axis=0)
    losses, slope = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(
        features=tf.tensor_scatter_nd_update(logits, places, values), labels=target
    )

    def gradient(upstream):
        by_token = tf.cast(upstream[:, None], wide.dtype)
        narrow = tf.cast(slope, wide.dtype)
        d_inputs = tf.matmul(narrow, table)[:, :-1] * by_token
        d_table = tf.matmul(narrow, wide * by_token, transpose_a=True)[:-1]
        d_bias = tf.cast(d_table[:, -1], bias.dtype)
        return d_inputs, d_table[:, :-1], d_bias, slope[:, -1] * upstream, None

    return losses, gradient
