"""The spans that tags mark, and how likely tags and spans are, computed by a graph."""

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from elmo_keras.tasks.crf import LinearChainCRF
from elmo_keras.tasks.entities import END, INSIDE, OUTSIDE

NOWHERE = -1  # in columns after the last span


class TagSpans(NamedTuple):
    """Spans of each sentence: column i holds span i, in the order of the tokens."""

    begins: tf.Tensor  # int32 (batch, time), the first token; `NOWHERE` for no span
    ends: tf.Tensor  # int32 (batch, time), the token after the last one, or `NOWHERE`
    types: tf.Tensor  # strings (batch, time), "" for no span
    count: tf.Tensor  # int32 (batch,), the number of spans


def tag_spans(ids: tf.Tensor, tags: Sequence[str]) -> TagSpans:
    """The spans that `entities.entities` finds in int32 tags `(batch, time)`."""
    names = [*tags, OUTSIDE]  # the last one for padding
    types = [name[2:] for name in names]
    distinct = sorted(set(types))
    padded = tf.pad(ids, [[0, 0], [1, 1]], constant_values=-1)
    padded = tf.where(padded < 0, len(tags), padded)

    def before_and_after(values):
        """The values of the tag before each boundary, and of the one after it."""
        of_tags = tf.gather(tf.constant(values), padded)
        return of_tags[:, :-1], of_tags[:, 1:]

    was_open, is_open = before_and_after([name != OUTSIDE for name in names])
    ended, _ = before_and_after([name[0] in END for name in names])
    _, continues = before_and_after([name[0] in INSIDE for name in names])
    type_before, type_after = before_and_after([distinct.index(t) for t in types])
    ends_here = ended | ~continues | (type_before != type_after)
    begins = _columns((is_open & (~was_open | ends_here))[:, :-1])
    ends = _columns((was_open & ends_here)[:, 1:])
    first = tf.gather(ids, tf.maximum(begins, 0), batch_dims=1)
    type_names = tf.gather(tf.constant(types), tf.maximum(first, 0))
    is_span = begins >= 0
    return TagSpans(
        begins,
        tf.where(is_span, ends + 1, NOWHERE),
        tf.where(is_span, type_names, ""),
        tf.reduce_sum(tf.cast(is_span, tf.int32), axis=1),
    )


def _columns(marked):
    """The positions that are marked in each row, then `NOWHERE`: `(batch, time)`."""
    indices = tf.cast(tf.where(marked), tf.int32)  # (marked, 2), row by row
    order = tf.cumsum(tf.cast(marked, tf.int32), axis=1, exclusive=True)
    targets = tf.stack([indices[:, 0], tf.gather_nd(order, indices)], axis=1)
    nowhere = tf.fill(tf.shape(marked), NOWHERE)
    return tf.tensor_scatter_nd_update(nowhere, targets, indices[:, 1])


def crf_marginals(scores, mask, weights) -> tuple[tf.Tensor, tf.Tensor]:
    """The probability of each tag, and the scores of all that follows each tag.

        α_t(k) = x_t(k) + log Σ_j exp(α_{t−1}(j) + A[j, k]),   α_1 = x_1 + a
        β_t(j) = log Σ_k exp(A[j, k] + x_{t+1}(k) + β_{t+1}(k)),   β_n = b
        p(y_t = k) = softmax_k(α_t(k) + β_t(k))

    in the symbols of `LinearChainCRF`; weights are A, a and b. α and β are kept up to a
    constant of each token, so that long sentences lose no precision. Returns log p and β,
    `(batch, time, tags)`, arbitrary but finite at padding; time is at least 1.

    Reference: Lafferty et al. 2001; Rabiner 1989, section III.
    """
    transitions, first, last = weights
    x = tf.transpose(scores, [1, 0, 2])
    # Nothing follows the last position; one more, so that there is a step.
    padded = tf.pad(x, [[0, 1], [0, 0], [0, 0]])
    real = tf.pad(tf.transpose(mask), [[0, 1], [0, 0]])[:, :, None]

    def forward(state, x):
        state = x + tf.reduce_logsumexp(state[:, :, None] + transitions, axis=1)
        return _normalize(state)

    def backward(state, token):
        x, is_real = token
        onwards = transitions + (x + state)[:, None, :]
        return _normalize(tf.where(is_real, tf.reduce_logsumexp(onwards, 2), last))

    start = x[0] + first
    alphas = tf.scan(forward, padded[1:], start)
    alphas = tf.concat([start[None], alphas[:-1]], axis=0)
    end = tf.broadcast_to(last, tf.shape(start))
    betas = tf.scan(backward, (padded[1:], real[1:]), end, reverse=True)
    both = tf.nn.log_softmax(alphas + betas, axis=2)
    return tf.transpose(both, [1, 0, 2]), tf.transpose(betas, [1, 0, 2])


def _normalize(state):
    return state - tf.reduce_logsumexp(state, axis=1, keepdims=True)


def tag_probabilities(
    scores: tf.Tensor, ids: tf.Tensor, crf: LinearChainCRF | None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Logarithms of the probabilities of tags, int32 `(batch, time)`, −1 at padding.

    Of each tag alone, and after the tag of the token before it; 0 at padding.
    """
    mask, tags = ids >= 0, tf.maximum(ids, 0)
    scores = tf.cast(scores, tf.float32)
    if crf is None:
        alone = after = _gather_tags(tf.nn.log_softmax(scores, axis=2), tags)
    else:
        weights = crf.constrained_weights(tf.float32)
        alone, onwards = crf_marginals(scores, mask, weights)
        alone = _gather_tags(alone, tags)
        before = tf.pad(tags[:, :-1], [[0, 0], [1, 0]])
        after = scores + onwards + tf.gather(weights[0], before)
        after = _gather_tags(tf.nn.log_softmax(after, axis=2), tags)
    return tf.where(mask, alone, 0.0), tf.where(mask, after, 0.0)


def span_probabilities(
    spans: TagSpans, alone: tf.Tensor, after: tf.Tensor
) -> tf.Tensor:
    """The probability that a span's tokens have their tags: `(batch, time)`, 0 for none."""
    first = tf.maximum(spans.begins, 0)
    last = tf.maximum(spans.ends - 1, 0)
    sums = tf.cumsum(after, axis=1)
    total = tf.gather(alone, first, batch_dims=1)
    total += tf.gather(sums, last, batch_dims=1)
    total -= tf.gather(sums, first, batch_dims=1)
    return tf.where(spans.begins >= 0, tf.exp(tf.minimum(total, 0.0)), 0.0)


def _gather_tags(values, tags):
    return tf.gather(values, tags, axis=2, batch_dims=2)
