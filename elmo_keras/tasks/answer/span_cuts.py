"""Which characters of its first and its last token an answer leaves out."""

import keras
import tensorflow as tf

from elmo_keras.tasks.answer.character_cuts import LONGEST_CUT, CharacterCuts
from elmo_keras.tasks.layers.attention import NEVER


@keras.saving.register_keras_serializable("elmo_keras")
class SpanCuts(keras.layers.Layer):
    """The scores of the cuts at both ends of spans; see `CharacterCuts`.

    Args:
        dropout: rate of the dropout on the tokens' vectors.

    Call arguments:
        context: strings `(batch, time)`, the tokens.
        starts, ends: float `(batch, time, dim)`, vectors of the tokens, to judge where
            a span begins in its first token and where it ends in its last.
        spans: int32 `(batch, 2)`, the first and the last token.
        training: whether dropout is applied.

    Output: the scores of 0 to `LONGEST_CUT` characters before the answer and after it,
    float `(batch, LONGEST_CUT + 1)` twice.
    """

    def __init__(self, dropout: float = 0.2, **kwargs):
        super().__init__(**kwargs)
        self.supports_jit = False  # XLA has no strings
        self.dropout = keras.layers.Dropout(dropout)
        self.before = CharacterCuts(at_end=False, name="before")
        self.after = CharacterCuts(at_end=True, name="after")

    def build(self, vectors_shape):
        for layer in (self.before, self.after):
            layer.build((None,), (None, vectors_shape[-1]))

    def call(self, context, starts, ends, *, spans, training=False):
        scores = []
        for i, (layer, vectors) in enumerate(
            ((self.before, starts), (self.after, ends))
        ):
            vectors = tf.gather(vectors, spans[:, i], batch_dims=1)
            vectors = self.dropout(vectors, training=training)
            tokens = tf.gather(context, spans[:, i], batch_dims=1)
            scores.append(layer(tokens, vectors))
        return tuple(scores)

    def best(self, context, starts, ends, *, spans) -> tf.Tensor:
        """The best cuts of each span, int32 `(batch, 2)`: before and after it."""
        before, after = self(context, starts, ends, spans=spans)
        lengths = tf.strings.length(
            tf.gather(context, spans[:, 0], batch_dims=1), unit="UTF8_CHAR"
        )
        is_one_token = spans[:, 0] == spans[:, 1]
        room = tf.where(is_one_token, lengths - 1, 2 * LONGEST_CUT)
        return tf.stack(best_cuts(before, after, room), axis=1)

    def get_config(self):
        return super().get_config() | {"dropout": self.dropout.rate}


def best_cuts(
    before: tf.Tensor, after: tf.Tensor, room: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """The cuts at both ends of an answer with the highest sum of scores.

    Args:
        before, after: scores of the cuts, float `(batch, cuts)`.
        room: int32 `(batch,)`, the number of characters that may be cut off in total:
            one less than the token has, if the answer is within a single token.

    Returns:
        The numbers of characters before and after the answer, int32 `(batch,)` twice.

    >>> scores = tf.constant([[1., 2.]])
    >>> [int(cut[0]) for cut in best_cuts(scores, scores * 2, tf.constant([1]))]
    [0, 1]
    """
    n_cuts = tf.shape(before)[1]
    total = tf.range(n_cuts)[:, None] + tf.range(n_cuts)
    scores = before[:, :, None] + after[:, None, :]
    scores = tf.where(total <= room[:, None, None], scores, NEVER)
    scores = tf.reshape(scores, [-1, n_cuts * n_cuts])
    best = tf.argmax(scores, axis=1, output_type=tf.int32)
    return best // n_cuts, best % n_cuts
