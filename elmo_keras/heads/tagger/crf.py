"""A linear-chain conditional random field in TensorFlow: its layer, and its graphs.

Scores are padded, `(batch, time, tags)`, with a mask `(batch, time)` that is true at tokens
and false at padding, which follows them. `decoding.Crf` has the equations.
"""

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.heads.tagger.decoding import Crf


@keras.saving.register_keras_serializable("elmo_keras")
class LinearChainCRF(keras.layers.Layer):
    """The trained weights of a `Crf`, and the best tags.

    Args:
        n_tags: number of tags.
        allowed: which tag may follow which, for the best sequence only: bool
            `(n_tags + 1, n_tags)`, the last row for the first token and a tag in each;
            None allows all. See `constraints`.

    Call arguments:
        scores, mask: see `best_tags`.

    Output: int32 `(batch, time)`, the best tags, −1 at padding.

    >>> crf = LinearChainCRF(n_tags=3)
    >>> crf(keras.ops.ones((2, 5, 3)), mask=keras.ops.ones((2, 5), bool)).shape
    TensorShape([2, 5])

    Reference: Lafferty et al. 2001; Collobert et al. 2011, section 3.3.2.
    """

    def __init__(
        self, n_tags: int, allowed: Sequence[Sequence[bool]] | None = None, **kwargs
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.n_tags, self.allowed = n_tags, allowed
        shape = n_tags + 1, n_tags
        table = np.ones(shape, bool) if allowed is None else np.array(allowed, bool)
        if table.shape != shape or not table.any(axis=1).all():
            raise ValueError(
                f"`allowed` should have the shape {shape} and a tag in each row. "
                f"Received: {table.astype(int).tolist()}"
            )

    def build(self, input_shape=None):
        n = self.n_tags
        self.transitions = self.add_weight((n, n), "zeros", name="transitions")
        self.first, self.last = (
            self.add_weight((n,), "zeros", name=name) for name in ("first", "last")
        )

    def call(self, scores, mask):
        scores = _at_least_float32(scores)
        crf = self.weights_in(scores.dtype).only(self.allowed)
        return best_tags(crf, scores, mask)

    def log_likelihood(self, scores, tags, mask) -> tf.Tensor:
        """See the function of this name."""
        scores = _at_least_float32(scores)
        return log_likelihood(self.weights_in(scores.dtype), scores, tags, mask)

    def weights_in(self, dtype: tf.DType | str) -> Crf:
        weights = self.transitions, self.first, self.last
        return Crf(*(tf.cast(tf.convert_to_tensor(w), dtype) for w in weights))

    def get_config(self):
        return super().get_config() | {"n_tags": self.n_tags, "allowed": self.allowed}


def _at_least_float32(scores):
    """Scores as sums over a sentence need them."""
    scores = tf.convert_to_tensor(scores)
    return tf.cast(scores, tf.float32) if scores.dtype.size < 4 else scores


def best_tags(crf: Crf, scores: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """The best tags: int32 `(batch, time)`, −1 at padding."""
    time, onto = tf.shape(scores)[1], tf.transpose(crf.transitions)
    scores, mask = _time_major(scores, mask)
    ends = _forward(crf, scores, mask, tf.reduce_max)
    tag = tf.argmax(ends[-1] + crf.last, axis=1, output_type=tf.int32)

    def back(tag, token):
        end, is_real = token
        before = tf.argmax(end + tf.gather(onto, tag), 1, output_type=tf.int32)
        return tf.where(is_real[:, 0], before, tag)

    tags = tf.scan(back, (ends[:-1], mask[1:]), tag, reverse=True)
    return tf.transpose(tf.where(mask[:-1, :, 0], tags, -1)[:time])


def log_likelihood(
    crf: Crf, scores: tf.Tensor, tags: tf.Tensor, mask: tf.Tensor
) -> tf.Tensor:
    """log p of tag sequences `(batch, time)`, any values at padding: `(batch,)`, 0 if empty."""
    real = tf.cast(mask, scores.dtype)
    tags = tf.where(mask, tf.cast(tags, tf.int32), 0)
    tag_scores = tf.gather(scores, tags, axis=2, batch_dims=2) * real
    pairs = tf.stack([tags[:, :-1], tags[:, 1:]], axis=-1)
    between = tf.gather_nd(crf.transitions, pairs) * real[:, 1:]
    ends = real - tf.pad(real[:, 1:], [[0, 0], [0, 1]])  # 1 at the last token
    begins = real * tf.one_hot(0, tf.shape(real)[1], dtype=real.dtype)
    tag_scores += tf.gather(crf.first, tags) * begins
    tag_scores += tf.gather(crf.last, tags) * ends
    score = tf.reduce_sum(tag_scores, axis=1) + tf.reduce_sum(between, axis=1)
    return score - log_partition(crf, scores, mask)


def log_partition(crf: Crf, scores: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """log Σ exp score over all tag sequences: `(batch,)`."""
    scores, mask = _time_major(scores, mask)
    totals = _forward(crf, scores, mask, tf.reduce_logsumexp)
    total = tf.reduce_logsumexp(totals[-1] + crf.last, axis=1)
    return tf.where(mask[0, :, 0], total, tf.zeros_like(total))


def _forward(crf, scores, mask, reduce):
    """All paths up to each tag, reduced to one number: `(time, batch, tags)`."""

    def step(total, token):
        x, is_real = token
        paths = total[:, :, None] + crf.transitions
        return tf.where(is_real, reduce(paths, axis=1) + x, total)

    start = crf.first + scores[0]
    totals = tf.scan(step, (scores[1:], mask[1:]), start)
    return tf.concat([start[None], totals], axis=0)


def log_marginals(
    crf: Crf, scores: tf.Tensor, mask: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """The probability of each tag, and the scores of all that follows each tag.

        α_t(k) = x_t(k) + log Σ_j exp(α_{t−1}(j) + A[j, k]),   α_1 = x_1 + a
        β_t(j) = log Σ_k exp(A[j, k] + x_{t+1}(k) + β_{t+1}(k)),   β_n = b
        p(y_t = k) = softmax_k(α_t(k) + β_t(k))

    α and β are kept up to a constant of each token, so that long sentences lose no
    precision. Returns log p and β, `(batch, time, tags)`, arbitrary but finite at
    padding; time is at least 1.
    """
    x, real = _time_major(scores, mask)
    time = tf.shape(scores)[1]

    def forward(state, x):
        paths = state[:, :, None] + crf.transitions
        return tf.nn.log_softmax(x + tf.reduce_logsumexp(paths, axis=1))

    def backward(state, token):
        x, is_real = token
        onwards = crf.transitions + (x + state)[:, None, :]
        state = tf.where(is_real, tf.reduce_logsumexp(onwards, 2), crf.last)
        return tf.nn.log_softmax(state)

    start = x[0] + crf.first
    alphas = tf.concat([start[None], tf.scan(forward, x[1:], start)], axis=0)
    end = tf.broadcast_to(crf.last, tf.shape(start))
    betas = tf.scan(backward, (x[1:], real[1:]), end, reverse=True)[:time]
    log_p = tf.nn.log_softmax(alphas[:time] + betas, axis=2)
    return tf.transpose(log_p, [1, 0, 2]), tf.transpose(betas, [1, 0, 2])


def tag_log_probabilities(
    scores: tf.Tensor, ids: tf.Tensor, crf: Crf | None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Log probabilities of tags, int32 `(batch, time)`, −1 at padding.

    The first are those of each tag alone, the second those of a tag after the tag of the
    token before; both are 0 at padding.
    """

    def at_tags(values):
        return tf.where(mask, tf.gather(values, tags, axis=2, batch_dims=2), 0.0)

    mask, tags = ids >= 0, tf.maximum(ids, 0)
    if crf is None:
        alone = at_tags(tf.nn.log_softmax(scores, axis=2))
        return alone, alone
    alone, onwards = log_marginals(crf, scores, mask)
    before = tf.pad(tags[:, :-1], [[0, 0], [1, 0]])
    after = scores + onwards + tf.gather(crf.transitions, before)
    return at_tags(alone), at_tags(tf.nn.log_softmax(after, axis=2))


def _time_major(scores, mask):
    """Scores `(time, batch, tags)`, and the mask `(time, batch, 1)`, with some padding.

    There are at least two positions, as `tf.scan` needs a step, and one after each token.
    """
    padding = tf.stack([0, tf.maximum(1, 2 - tf.shape(scores)[1])])
    scores = tf.pad(scores, tf.stack([[0, 0], padding, [0, 0]]))
    mask = tf.pad(mask, tf.stack([[0, 0], padding]))
    return tf.transpose(scores, [1, 0, 2]), tf.transpose(mask)[:, :, None]
