"""How many characters of its first and its last token an answer leaves out."""

import keras
import tensorflow as tf

from elmo_keras.tasks.answer.words import LONGEST_CUT
from elmo_keras.tasks.layers.pooling import NEVER

# A boundary is judged by these numbers of characters that it cuts off and keeps.
CUT_OFF, KEPT = 5, 3
BUCKETS = 2**12  # of characters, which share a vector by the remainder of their code
NOTHING, EDGE = 0, 1  # beyond a short token's other end; before the token's own edge


@keras.saving.register_keras_serializable("elmo_keras")
class CharacterCuts(keras.layers.Layer):
    """How many characters at a token's edge do not belong to an answer.

    In Korean an answer mostly ends before a particle, within a token: `서울` in `서울에서`.

        s_c = v · ReLU(A h + B [e_{c−5}; …; e_{c−1}; e_c; …; e_{c+2}]) + b_c

    where c characters are cut off, h is the vector of the token, and e_k is the vector
    of its character k, counted from 0 at the edge, which is the end if `at_end`; in
    front of the edge there are vectors of their own. The scores of 0 to `LONGEST_CUT`
    characters, `(batch, LONGEST_CUT + 1)`, are very low where no character would remain.
    """

    def __init__(self, at_end, units=50, character_dim=16, **kwargs):
        super().__init__(**kwargs)
        self.supports_jit = False  # XLA has no strings
        self.at_end = at_end
        self.units = units
        self.character_dim = character_dim
        self.characters = keras.layers.Embedding(2 + BUCKETS, character_dim)
        self.around = keras.layers.Conv1D(units, CUT_OFF + KEPT, name="around")
        self.of_token = keras.layers.Dense(units, use_bias=False, name="of_token")
        self.score = keras.layers.Dense(1, use_bias=False, name="score")

    def build(self, tokens_shape, vectors_shape):
        self.characters.build((None, None))
        self.around.build((None, None, self.character_dim))
        self.of_token.build(vectors_shape)
        self.score.build((None, None, self.units))
        self.of_number = self.add_weight((LONGEST_CUT + 1,), "zeros", name="of_number")

    def call(self, tokens, vectors):
        n_tokens = tf.shape(tokens)[0]
        # A convolution of no rows may give another shape.
        ids = tf.pad(self._ids(tokens), [[0, tf.maximum(1 - n_tokens, 0)], [0, 0]])
        hidden = self.around(self.characters(ids))[:n_tokens]
        hidden = tf.nn.relu(hidden + self.of_token(vectors)[:, None])
        scores = tf.squeeze(self.score(hidden), axis=2) + self.of_number
        lengths = tf.strings.length(tokens, unit="UTF8_CHAR")
        remains = tf.range(LONGEST_CUT + 1) < tf.maximum(lengths, 1)[:, None]
        return tf.where(remains, scores, NEVER)

    def _ids(self, tokens):
        """Numbers of the characters around each boundary, from the edge inwards."""
        codes = tf.strings.unicode_decode(tokens, "UTF-8") % BUCKETS + EDGE + 1
        lengths = tf.cast(codes.row_lengths(), tf.int32)[:, None]
        codes = tf.pad(codes.to_tensor(), [[0, 0], [0, 1]])  # never without columns
        inwards = tf.range(LONGEST_CUT + KEPT)[None]
        place = lengths - 1 - inwards if self.at_end else inwards + 0 * lengths
        inside = tf.where(
            inwards < lengths,
            tf.gather(codes, tf.clip_by_value(place, 0, lengths), batch_dims=1),
            NOTHING,
        )
        return tf.pad(inside, [[0, 0], [CUT_OFF, 0]], constant_values=EDGE)


@keras.saving.register_keras_serializable("elmo_keras")
class SpanCuts(keras.layers.Layer):
    """The scores of `CharacterCuts` at both ends of spans, int32 `(batch, 2)`."""

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
        def scores(layer, vectors, places):
            vectors = tf.gather(vectors, places, batch_dims=1)
            tokens = tf.gather(context, places, batch_dims=1)
            return layer(tokens, self.dropout(vectors, training=training))

        before = scores(self.before, starts, spans[:, 0])
        return before, scores(self.after, ends, spans[:, 1])

    def best(self, context, starts, ends, *, spans) -> tf.Tensor:
        """The best cuts of each span, int32 `(batch, 2)`: before and after it."""
        before, after = self(context, starts, ends, spans=spans)
        tokens = tf.gather(context, spans[:, 0], batch_dims=1)
        lengths = tf.strings.length(tokens, unit="UTF8_CHAR")
        is_one_token = spans[:, 0] == spans[:, 1]
        room = tf.where(is_one_token, lengths - 1, 2 * LONGEST_CUT)
        return tf.stack(best_cuts(before, after, room), axis=1)


def best_cuts(before, after, room) -> tuple[tf.Tensor, tf.Tensor]:
    """The cuts with the highest sum of scores, at most `room` in total, int32 `(batch,)`."""
    n_cuts = tf.shape(before)[1]
    total = tf.range(n_cuts)[:, None] + tf.range(n_cuts)
    scores = before[:, :, None] + after[:, None, :]
    scores = tf.where(total <= room[:, None, None], scores, NEVER)
    scores = tf.reshape(scores, [-1, n_cuts * n_cuts])
    best = tf.argmax(scores, axis=1, output_type=tf.int32)
    return best // n_cuts, best % n_cuts
