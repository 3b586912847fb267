"""How likely a tagger finds its tags and spans."""

from typing import NamedTuple

import tensorflow as tf

from elmo_keras.tasks.tag.crf import LinearChainCRF
from elmo_keras.tasks.tag.tag_spans import TagSpans


def crf_marginals(
    scores: tf.Tensor, mask: tf.Tensor, weights: tuple[tf.Tensor, ...]
) -> tuple[tf.Tensor, tf.Tensor]:
    """The probability of each tag, and the scores of all that follows each tag.

        α_t(k) = x_t(k) + log Σ_j exp(α_{t−1}(j) + A[j, k]),   α_1 = x_1 + a
        β_t(j) = log Σ_k exp(A[j, k] + x_{t+1}(k) + β_{t+1}(k)),   β_n = b
        p(y_t = k) = softmax_k(α_t(k) + β_t(k))

    in the symbols of `LinearChainCRF`; weights are A, a and b, and there is at least one
    position. α and β are kept up to a constant of each token, so that long sentences lose
    no precision. Returns log p and β, `(batch, time, tags)`, arbitrary but finite at
    padding.

    Reference: Lafferty et al. 2001; Rabiner 1989, section III.
    """
    transitions, first, last = weights
    x, real = tf.transpose(scores, [1, 0, 2]), tf.transpose(mask)
    real = tf.pad(real, [[0, 1], [0, 0]])  # nothing follows the last position
    time = tf.shape(x)[0]

    def forward(t, state):
        return x[t] + tf.reduce_logsumexp(state[:, :, None] + transitions, axis=1)

    def backward(t, state):
        onwards = transitions + (x[t + 1] + state)[:, None, :]
        return tf.where(real[t + 1][:, None], tf.reduce_logsumexp(onwards, 2), last)

    alphas = _states(x[0] + first, tf.range(time), forward)
    end = tf.broadcast_to(last, tf.shape(x[0]))
    betas = _states(end, tf.range(time - 1, -1, -1), backward)
    both = tf.nn.log_softmax(alphas + betas, axis=2)
    return tf.transpose(both, [1, 0, 2]), tf.transpose(betas, [1, 0, 2])


def _states(state, times, step):
    """The state at each time, `(time, batch, tags)`; the first one is given."""
    time, shape = tf.size(times), state.shape
    states = tf.TensorArray(state.dtype, size=time, element_shape=shape)
    states = states.write(times[0], state)

    def body(i, state, states):
        state = tf.ensure_shape(step(times[i], state), shape)
        state -= tf.reduce_logsumexp(state, axis=1, keepdims=True)
        return i + 1, state, states.write(times[i], state)

    *_, states = tf.while_loop(lambda i, *_: i < time, body, (1, state, states))
    return states.stack()


class TagProbabilities(NamedTuple):
    """Logarithms of probabilities of each token's tag, `(batch, time)`, 0 at padding."""

    alone: tf.Tensor
    after: tf.Tensor  # given the tag of the token before it

    def of_spans(self, spans: TagSpans) -> tf.Tensor:
        """The probability that a span's tokens have their tags: `(batch, time)`, 0 for none.

        It is that of the first tag, times those of the others given the one before.
        """
        first = tf.maximum(spans.begins, 0)
        last = tf.maximum(spans.ends - 1, 0)
        sums = tf.cumsum(self.after, axis=1)
        total = tf.gather(self.alone, first, batch_dims=1)
        total += tf.gather(sums, last, batch_dims=1)
        total -= tf.gather(sums, first, batch_dims=1)
        return tf.where(spans.begins >= 0, tf.exp(tf.minimum(total, 0.0)), 0.0)


def tag_probabilities(
    scores: tf.Tensor, numbers: tf.Tensor, crf: LinearChainCRF | None
) -> TagProbabilities:
    """The probabilities of given tags among the sequences that the CRF allows.

    Without a CRF, each tag is decided by itself. Numbers are int32 `(batch, time)`, −1
    at padding.
    """
    mask, tags = numbers >= 0, tf.maximum(numbers, 0)
    scores = tf.cast(scores, tf.float32)
    if crf is None:
        alone = after = _chosen(tf.nn.log_softmax(scores, axis=2), tags)
    else:
        weights = crf.constrained(tf.float32)
        alone, onwards = crf_marginals(scores, mask, weights)
        alone = _chosen(alone, tags)
        before = tf.pad(tags[:, :-1], [[0, 0], [1, 0]])
        after = scores + onwards + tf.gather(weights[0], before)
        after = _chosen(tf.nn.log_softmax(after, axis=2), tags)
    return TagProbabilities(tf.where(mask, alone, 0.0), tf.where(mask, after, 0.0))


def _chosen(values, tags):
    return tf.gather(values, tags, axis=2, batch_dims=2)
