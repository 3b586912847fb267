"""From tokens to everything that google/elmo gives."""

import tensorflow as tf

from elmo_keras import BidirectionalLanguageModel
from elmo_keras.characters import BEGIN_OF_SENTENCE_TOKEN, END_OF_SENTENCE_TOKEN
from elmo_keras.layers import ScalarMix


class Vectors:
    """The outputs of the export: all layers of a biLM, their mix and its mean.

    Args:
        bilm: a built biLM. Where it is not trainable no gradient reaches it.
        mix: a built `ScalarMix` in float32.
        dropout: rate of the dropout on the mix, in training.

    Call arguments:
        tokens: ragged strings `(batch, tokens)`; an empty one is a word of no
            characters.
        time: T, how long the outputs are; the longest sentence fits.
        training: whether dropout is applied.

    Output: a dict of float32 tensors, 0 behind the end of a sentence, P being
    the projection's size and L the number of LSTM layers:

        word_emb          (batch, T, P)
        lstm_outputs1…L   (batch, T, 2P)
        layers            (batch, L + 1, T, 2P)
        elmo              (batch, T, 2P), the mix
        default           (batch, 2P), mean of `elmo` over a sentence's tokens
        sequence_len      int32 (batch,)
    """

    def __init__(
        self, bilm: BidirectionalLanguageModel, mix: ScalarMix, dropout: float = 0.0
    ):
        self.bilm = bilm
        self.mix = mix
        self.dropout = dropout

    def __call__(self, tokens, time, training=False):
        lengths = tf.cast(tokens.row_lengths(), tf.int32)
        rows = tf.cast(tokens.value_rowids(), tf.int32)
        # Up to the outputs all is (tokens, …), sentence after sentence.
        x, *layers = self._layers(tokens, lengths, rows, training)
        elmo = self.mix(layers)
        if training and self.dropout:
            elmo = tf.nn.dropout(elmo, self.dropout)
        places = tf.where(tf.sequence_mask(lengths, time))
        word_emb, padded_elmo, *padded = (
            _padded(h, places, lengths, time) for h in (x, elmo, *layers)
        )
        return {
            "word_emb": word_emb,
            **{f"lstm_outputs{i}": h for i, h in enumerate(padded[1:], 1)},
            "layers": tf.stack(padded, axis=1),
            "elmo": padded_elmo,
            "default": _means(elmo, rows, lengths),
            "sequence_len": lengths,
        }

    def _layers(self, tokens, lengths, rows, training):
        """x and all layers of the biLM without `<S>` and `</S>`: (tokens, …)."""
        begin, end = (
            tf.fill([tf.size(lengths), 1], token)
            for token in (BEGIN_OF_SENTENCE_TOKEN, END_OF_SENTENCE_TOKEN)
        )
        words = tf.concat([begin, tokens, end], axis=1).flat_values
        x = self.bilm.word_vectors(words, training)
        layers = self.bilm.layers_of_sentences(x, lengths + 2, training)
        # Two more boundaries stand before each further sentence.
        inner = tf.range(tf.size(rows)) + 2 * rows + 1
        layers = [tf.cast(tf.gather(h, inner), tf.float32) for h in (x, *layers)]
        return layers if self.bilm.trainable else map(tf.stop_gradient, layers)


def _padded(x, places, lengths, time):
    """Tokens (tokens, dim) at their places: (batch, time, dim), 0 elsewhere."""
    shape = tf.stack([tf.size(lengths), time, x.shape[-1]])
    padded = tf.scatter_nd(places, x, tf.cast(shape, tf.int64))
    return tf.ensure_shape(padded, (None, None, x.shape[-1]))


def _means(x, rows, lengths):
    """The mean over each sentence's tokens, 0 where there are none: (batch, dim)."""
    sums = tf.math.unsorted_segment_sum(x, rows, tf.size(lengths))
    return sums / tf.cast(tf.maximum(lengths, 1), tf.float32)[:, None]
