"""Computes all outputs of google/elmo from tokens."""

import tensorflow as tf

from elmo_keras import BidirectionalLanguageModel
from elmo_keras.layers import ScalarMix
from elmo_keras.layers.flat_sentences import means, padded


class Vectors:
    """The outputs of the export: all layers of a biLM, their mix and its mean.

    If the biLM is not trainable, no gradient reaches it. The call takes ragged tokens
    and T, the length of the outputs, at least that of the longest sentence. It returns
    float32 tensors, 0 after the end of a sentence, for L LSTM layers and
    P = `projection_dim`:

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
        # Up to the outputs everything is (tokens, …), see `layers.flat_sentences`.
        layers = self._layers(tokens.flat_values, lengths, training)
        elmo = self.mix(layers)
        if training and self.dropout:
            elmo = tf.nn.dropout(elmo, self.dropout)
        x = layers[0][:, : self.bilm.config.projection_dim]  # layer 0 is [x; x]
        mask = tf.sequence_mask(lengths, time)
        outputs = [padded(h, mask) for h in layers]
        return {
            "word_emb": padded(x, mask),
            **{f"lstm_outputs{i}": h for i, h in enumerate(outputs[1:], 1)},
            "layers": tf.stack(outputs, axis=1),
            "elmo": padded(elmo, mask),
            "default": means(elmo, lengths),
            "sequence_len": lengths,
        }

    def _layers(self, tokens, lengths, training):
        layers = self.bilm.layers_of_sentences(tokens, lengths, training=training)
        layers = [tf.cast(h, tf.float32) for h in layers]
        if self.bilm.trainable:
            return layers
        return [tf.stop_gradient(h) for h in layers]
