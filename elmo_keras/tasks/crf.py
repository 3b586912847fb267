"""A linear-chain conditional random field over the tags of a sentence."""

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf


@keras.saving.register_keras_serializable("elmo_keras")
class LinearChainCRF(keras.layers.Layer):
    """Scores whole tag sequences by their tags and the transitions between them.

        score(y) = a[y_1] + Σ_t x[t, y_t] + Σ_t A[y_{t−1}, y_t] + b[y_n]
        log p(y) = score(y) − log Σ_{y'} exp score(y')

    The sum over all sequences (forward algorithm) and the best sequence (Viterbi) are
    exact. The mask is true at tokens and false at padding, which follows them. A
    sentence without tokens has one tag sequence, the empty one, with score 0.

    Args:
        n_tags: number of tags.
        allowed: which tag may follow which, for the best sequence only: bool
            `(n_tags + 1, n_tags)`, the last row for the first token and a tag in each;
            None allows all. See `constraints`.

    Call arguments:
        scores: float tensor `(batch, time, n_tags)`, the x above.
        mask: bool `(batch, time)`.

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
        self.n_tags = n_tags
        self.allowed = allowed
        shape = n_tags + 1, n_tags
        table = np.ones(shape, bool) if allowed is None else np.array(allowed, bool)
        if table.shape != shape or not table.any(axis=1).all():
            raise ValueError(
                f"`allowed` should have the shape {shape} and a tag in each row. "
                f"Received: {table.astype(int).tolist()}"
            )
        self._penalties = np.where(table, 0.0, -1e6)  # which no score outweighs

    def build(self, input_shape=None):
        n = self.n_tags
        self.transitions = self.add_weight((n, n), "zeros", name="transitions")
        self.first = self.add_weight((n,), "zeros", name="first")
        self.last = self.add_weight((n,), "zeros", name="last")

    def get_config(self):
        return super().get_config() | {"n_tags": self.n_tags, "allowed": self.allowed}

    def call(self, scores, mask):
        scores, *_ = self._tensors(scores)
        transitions, first, last = self.constrained_weights(scores.dtype)
        time = tf.shape(scores)[1]
        scores, mask = _transpose(scores, mask)

        def step(states, token):
            x, is_real = token
            paths = states[0][:, :, None] + transitions
            best = tf.where(is_real, tf.reduce_max(paths, axis=1) + x, states[0])
            return best, tf.argmax(paths, axis=1, output_type=tf.int32)

        start = first + scores[0]
        tokens = scores[1:], mask[1:]
        bests, pointers = tf.scan(step, tokens, (start, tf.zeros_like(start, tf.int32)))
        tag = tf.argmax(bests[-1] + last, axis=1, output_type=tf.int32)

        def back(tag, token):
            before, is_real = token
            return tf.where(is_real[:, 0], tf.gather(before, tag, batch_dims=1), tag)

        tags = tf.scan(back, (pointers, mask[1:]), tag, reverse=True)
        return tf.transpose(tf.where(mask[:-1, :, 0], tags, -1)[:time])

    def constrained_weights(self, dtype) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """A, a and b, very low where `allowed` forbids a tag."""
        weights = self.transitions, self.first, self.last
        transitions, first, last = (_tensor(w, dtype) for w in weights)
        penalties = tf.constant(self._penalties, dtype)
        return transitions + penalties[:-1], first + penalties[-1], last

    def log_likelihood(self, scores, tags, mask):
        """log p of tag sequences `(batch, time)`, any values at padding: `(batch,)`, 0 if empty."""
        return self.score(scores, tags, mask) - self.log_partition(scores, mask)

    def log_partition(self, scores, mask):
        """log Σ exp score over all tag sequences: `(batch,)`."""
        scores, transitions, first, last = self._tensors(scores)
        scores, mask = _transpose(scores, mask)

        def step(total, token):
            x, is_real = token
            paths = total[:, :, None] + transitions
            return tf.where(is_real, tf.reduce_logsumexp(paths, axis=1) + x, total)

        totals = tf.scan(step, (scores[1:], mask[1:]), first + scores[0])
        total = tf.reduce_logsumexp(totals[-1] + last, axis=1)
        return tf.where(mask[0, :, 0], total, tf.zeros_like(total))

    def score(self, scores, tags, mask):
        scores, transitions, first, last = self._tensors(scores)
        real = tf.cast(mask, scores.dtype)
        tags = tf.where(mask, tf.cast(tags, tf.int32), 0)
        of_tags = tf.gather(scores, tags, axis=2, batch_dims=2)
        pairs = tf.stack([tags[:, :-1], tags[:, 1:]], axis=-1)
        between = tf.gather_nd(transitions, pairs) * real[:, 1:]
        ends = real - tf.pad(real[:, 1:], [[0, 0], [0, 1]])  # 1 at the last token
        begins = real * tf.one_hot(0, tf.shape(real)[1], dtype=real.dtype)
        of_tags *= real
        of_tags += tf.gather(first, tags) * begins + tf.gather(last, tags) * ends
        return tf.reduce_sum(of_tags, axis=1) + tf.reduce_sum(between, axis=1)

    def _tensors(self, scores):
        """Scores and weights, at least in float32: sums over a sentence need it."""
        scores = tf.convert_to_tensor(scores)
        if scores.dtype.size < 4:
            scores = tf.cast(scores, tf.float32)
        weights = self.transitions, self.first, self.last
        return scores, *(_tensor(w, scores.dtype) for w in weights)


def _transpose(scores, mask):
    """Scores `(time, batch, tags)`, and the mask `(time, batch, 1)`, with some padding.

    There are at least two positions, as `tf.scan` needs a step, and one after each token.
    """
    padding = tf.stack([0, tf.maximum(1, 2 - tf.shape(scores)[1])])
    scores = tf.pad(scores, tf.stack([[0, 0], padding, [0, 0]]))
    mask = tf.pad(mask, tf.stack([[0, 0], padding]))
    return tf.transpose(scores, [1, 0, 2]), tf.transpose(mask)[:, :, None]


def _tensor(variable, dtype):
    return tf.cast(tf.convert_to_tensor(variable), dtype)
