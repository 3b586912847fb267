"""The vectors of sentences by TensorFlow."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from elmo_keras.bilm import check_process
from elmo_keras.elmo import Elmo
from elmo_keras.embed.engines.engine import Engine
from elmo_keras.layers.scalar_mix import ScalarMix
from elmo_keras.text.characters import characters_of_words


class TensorFlowEngine(Engine):
    """Both LSTMs of an `Elmo` layer over the real tokens, in one graph.

    Its weights must not change any more. `mix` and `gamma` replace those of the layer.
    """

    def __init__(
        self,
        elmo: Elmo,
        layers: str | int,
        *,
        mix: Sequence[float] | None,
        gamma: float | None,
        dtype: str,
        pooling: str | None,
        keep_sentence_boundaries: bool,
    ):
        if not elmo.built:
            elmo.build()
        super().__init__(
            elmo.config,
            layers,
            dtype=dtype,
            pooling=pooling,
            keep_sentence_boundaries=keep_sentence_boundaries,
        )
        self.elmo = elmo
        self._mix = _make_mix(elmo, mix, gamma)
        self.arithmetic = elmo.bilm.dtype_policy.name
        self.word_dtype = tf.as_dtype(elmo.bilm.compute_dtype).as_numpy_dtype
        x = tf.TensorSpec((None, elmo.config.projection_dim), elmo.bilm.compute_dtype)
        self._words = trace(self._word_vectors, tf.TensorSpec((None,), tf.string))
        self._layers = trace(self._choose, x, tf.TensorSpec((None,), tf.int32))

    @property
    def model(self) -> str:
        return self.elmo.bilm.digest()

    @property
    def mix(self) -> dict:
        return self._mix.values()

    def word_vectors(self, words: Sequence[bytes]) -> np.ndarray:
        check_process()
        return self._words(tf.constant(words)).numpy()

    def compute(self, x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        check_process()
        n_tokens = tf.constant(lengths.astype(np.int32))
        layers = [h.numpy() for h in self._layers(tf.constant(x), n_tokens)]
        return np.stack(layers) if len(layers) > 1 else layers[0][None]

    def _word_vectors(self, words):
        ids = characters_of_words(words, self.config)
        return self.elmo.bilm.token_representation(ids)

    def _choose(self, x, lengths):
        """All layers, or a list of one, in float32 if they are pooled afterwards."""
        layers = self.elmo.bilm.layers_of_sentences(
            x, lengths, keep_boundaries=bool(self.n_boundaries)
        )
        return self._select(layers)

    def _select(self, layers):
        if self.layers == "mix":
            layers = [self._mix(layers)]
        layers = [tf.cast(h, tf.float32) for h in layers]
        if self.layers == "average":
            layers = [tf.add_n(layers) / len(layers)]
        elif self.layers not in ("all", "mix"):
            layers = [layers[-1 if isinstance(self.layers, str) else self.layers]]
        return [tf.cast(h, tf.float32 if self.pooling else self.dtype) for h in layers]


def trace(function, *signature, **options):
    # A concrete function: TensorFlow warns if a `tf.function` is made repeatedly.
    function = tf.function(function, autograph=False, **options)
    return function.get_concrete_function(*signature)


def _make_mix(elmo, weights, gamma):
    """The layer's first mix, or one with these weights and this factor."""
    if weights is None and gamma is None and elmo.mixes:
        return elmo.mixes[0]
    if weights is None and elmo.mixes:
        mix = ScalarMix.from_config(elmo.mixes[0].get_config())
    else:
        mix = ScalarMix(
            mix=weights, gamma=1.0 if gamma is None else gamma, dtype=elmo.dtype_policy
        )
    mix.build([(None, 2 * elmo.config.projection_dim)] * (elmo.config.n_layers + 1))
    if weights is None and elmo.mixes:
        mix.set_weights(elmo.mixes[0].get_weights())
        mix.assign(gamma=gamma)
    return mix
