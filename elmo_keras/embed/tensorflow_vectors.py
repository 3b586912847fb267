"""The vectors of sentences by TensorFlow."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from elmo_keras.bilm import check_process
from elmo_keras.elmo import Elmo, model_digest
from elmo_keras.embed.sentence_vectors import SentenceVectors
from elmo_keras.layers.flat_sentences import maxima, means
from elmo_keras.layers.scalar_mix import ScalarMix
from elmo_keras.text.characters import characters_of_words

_POOLED = {"mean": means, "max": maxima}


class TensorFlowVectors(SentenceVectors):
    """Both LSTMs of an `Elmo` layer over the real tokens, in one graph.

    Its weights must not change any more. `layers` can be the weights of a mix.
    """

    def __init__(
        self,
        elmo: Elmo,
        layers: str | int | Sequence[float],
        *,
        gamma: float | None,
        dtype: str,
        pooling: str | None,
    ):
        if not elmo.built:
            elmo.build()
        config, self.elmo = elmo.config, elmo
        self._mix = _mix(elmo, layers, gamma)
        layers = "mix" if isinstance(layers, tuple) else layers
        super().__init__(config, layers, dtype=dtype, pooling=pooling)
        self.arithmetic = elmo.bilm.dtype_policy.name
        self.word_dtype = tf.as_dtype(elmo.bilm.compute_dtype).as_numpy_dtype
        words = tf.TensorSpec((None, config.projection_dim), elmo.bilm.compute_dtype)
        self._words = _graph(self._of_words, tf.TensorSpec((None,), tf.string))
        self._flat = _graph(self._of_vectors, words, tf.TensorSpec((None,), tf.int32))

    @property
    def model(self) -> str:
        return model_digest(self.elmo)

    @property
    def mix(self) -> dict:
        return self._mix.values()

    def word_vectors(self, words: Sequence[bytes]) -> np.ndarray:
        check_process()
        return self._words(tf.constant(words)).numpy()

    def flat(self, words: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        check_process()
        lengths = tf.constant(lengths.astype(np.int32))
        return self._flat(tf.constant(words), lengths).numpy()

    def _of_words(self, words):
        ids = characters_of_words(words, self.config)
        return self.elmo.bilm.token_representation(ids)

    def _of_vectors(self, x, lengths):
        vectors = self._chosen(self.elmo.bilm.layers_of_sentences(x, lengths))
        if self.pooling:
            vectors = [_POOLED[self.pooling](v, lengths) for v in vectors]
        vectors = [tf.cast(v, self.dtype) for v in vectors]
        return tf.stack(vectors) if self.layers == "all" else vectors[0]

    def _chosen(self, layers):
        """The chosen layers in float32: all of them, or a list of one."""
        if self.layers == "mix":
            layers = [self._mix(layers)]
        layers = [tf.cast(h, tf.float32) for h in layers]
        if self.layers == "average":
            return [tf.add_n(layers) / len(layers)]
        if self.layers in ("all", "mix"):
            return layers
        return [layers[-1 if self.layers == "top" else self.layers]]


def _graph(function, *signature):
    # A concrete function: TensorFlow warns if a `tf.function` is made repeatedly.
    return tf.function(function, autograph=False).get_concrete_function(*signature)


def _mix(elmo, layers, gamma):
    """The layer's first mix, or one with these weights and this factor."""
    is_new = isinstance(layers, tuple) or not elmo.mixes
    if not is_new and gamma is None:
        return elmo.mixes[0]
    if is_new:
        mix = ScalarMix(
            mix=layers if isinstance(layers, tuple) else None,
            gamma=1.0 if gamma is None else gamma,
            dtype=elmo.dtype_policy,
        )
    else:
        mix = ScalarMix.from_config(elmo.mixes[0].get_config())
    mix.build([(None, 2 * elmo.config.projection_dim)] * (elmo.config.n_layers + 1))
    if not is_new:
        mix.set_weights(elmo.mixes[0].get_weights())
        mix.assign(gamma=gamma)
    return mix
