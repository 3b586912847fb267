"""The vectors of a batch of sentences."""

import numpy as np
import tensorflow as tf

from elmo_keras.elmo import Elmo
from elmo_keras.embed.word_vectors import FIRST_EAGER, N_BOUNDARIES
from elmo_keras.layers.compiled_runs import SIGNATURE, Runs
from elmo_keras.layers.flat_sentences import maxima, means
from elmo_keras.layers.graph_later import traced
from elmo_keras.layers.run_compiler import RunCompiler
from elmo_keras.layers.scalar_mix import ScalarMix

CHOICES = "all", "average", "top", "mix"
POOLINGS = {"mean": means, "max": maxima}


class SentenceVectors:
    """The vectors of a batch: both LSTMs over its real tokens, then the chosen layers."""

    def __init__(
        self,
        elmo: Elmo,
        layers: str | int,
        *,
        dtype: str,
        pooling: str | None,
        mix: ScalarMix | None = None,
        jit_compile: bool = False,
    ):
        self.elmo, self.layers, self.dtype = elmo, layers, dtype
        self.pooling, self.mix = pooling, mix or elmo.mixes[0]
        self.n_layers = elmo.config.n_layers + 1
        check_kinds(dtype, pooling)
        allowed = (*CHOICES, *range(self.n_layers))
        if layers not in allowed or isinstance(layers, bool):
            raise ValueError(
                f"`layers` should be one of {allowed}. Received: {layers!r}"
            )
        words = tf.TensorSpec(
            (None, elmo.config.projection_dim), elmo.bilm.compute_dtype
        )
        self._signature = words, tf.TensorSpec((None,), tf.int32)
        graph = FIRST_EAGER if jit_compile else traced
        self._compute = graph(self._vectors, *self._signature)
        self._compiled = {}  # a graph for each kind of `Runs`
        self._compiler = jit_compile and RunCompiler(elmo.bilm.lstm, self._compile)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape of a sentence's vectors; None is the number of tokens."""
        shape = (None, 2 * self.elmo.config.projection_dim)
        shape = shape[1:] if self.pooling else shape
        return (self.n_layers, *shape) if self.layers == "all" else shape

    def of(self, words: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
        """The vectors of each sentence of a batch."""
        lengths = lengths.astype(np.int32)
        batch = tf.constant(words), tf.constant(lengths)
        runs = self._compiler and self._compiler.runs_for(lengths + N_BOUNDARIES)
        if runs:
            result = self._compiled[runs.kind](*batch, *runs.tensors).numpy()
        else:
            result = self._compute(*batch).numpy()
        axis = 1 if self.layers == "all" else 0
        if self.pooling:
            return list(np.moveaxis(result, axis, 0))
        return np.split(result, np.cumsum(lengths)[:-1], axis)

    def _compile(self, lengths, runs):
        if runs.kind not in self._compiled:
            self._compiled[runs.kind] = traced(
                lambda words, lengths, *tensors: self._vectors(
                    words, lengths, Runs(*tensors, runs.kind)
                ),
                *self._signature,
                *SIGNATURE,
            )
        dim, dtype = self.elmo.config.projection_dim, self.elmo.bilm.compute_dtype
        words = tf.zeros((lengths.sum(), dim), dtype)
        lengths = tf.constant(lengths - N_BOUNDARIES)
        self._compiled[runs.kind](words, lengths, *runs.tensors)

    def _vectors(self, x, lengths, runs=None):
        layers = self.elmo.bilm.layers_of_sentences(x, lengths, runs=runs)
        vectors = self._chosen(layers)
        if self.pooling:
            vectors = [POOLINGS[self.pooling](v, lengths) for v in vectors]
        vectors = [tf.cast(v, self.dtype) for v in vectors]
        return tf.stack(vectors) if self.layers == "all" else vectors[0]

    def _chosen(self, layers):
        """The chosen layers in float32: all of them, or a list of one."""
        if self.layers == "mix":
            layers = [self.mix(layers)]
        layers = [tf.cast(h, tf.float32) for h in layers]
        if self.layers == "average":
            return [tf.add_n(layers) / len(layers)]
        if self.layers in ("all", "mix"):
            return layers
        return [layers[-1 if self.layers == "top" else self.layers]]


def check_kinds(dtype: str, pooling: str | None) -> None:
    """Refuses what no model can give."""
    if dtype not in ("float32", "float16"):
        raise ValueError(
            f"`dtype` should be 'float32' or 'float16'. Received: {dtype!r}"
        )
    if pooling not in (None, *POOLINGS):
        raise ValueError(
            f"`pooling` should be None, 'mean' or 'max'. Received: {pooling!r}"
        )
