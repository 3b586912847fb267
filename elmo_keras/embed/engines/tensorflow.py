"""The vectors of sentences by TensorFlow."""

import functools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from elmo_keras.bilm import check_process
from elmo_keras.elmo import Elmo
from elmo_keras.embed.engines.engine import Engine
from elmo_keras.layers.loops import NOT_COMPILED, why_not_compiled
from elmo_keras.layers.scalar_mix import ScalarMix
from elmo_keras.text.characters import characters_of_words, cut_pieces

# Sizes of `CompiledEngine`'s batches.
TIME_GROWTH, ROW_GROWTH, WORD_GROWTH = 1.3, 4, 4  # factors between sizes
SHORTEST = 4  # steps, with both boundaries
LONGEST = 1024  # steps; x W + b of all of them is in memory at once
TOKENS = 2**13  # tokens of a full batch
CHARACTERS = 8, 13, 21, 34  # widths of words; others have the full width


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
        **output: Any,
    ):
        if not elmo.built:
            elmo.build()
        super().__init__(elmo.config, layers, **output)
        self.elmo = elmo
        self._mix = _make_mix(elmo, mix, gamma)
        self.arithmetic = elmo.bilm.dtype_policy.name
        self.word_dtype = tf.as_dtype(elmo.bilm.compute_dtype).as_numpy_dtype
        x = tf.TensorSpec((None, elmo.config.projection_dim), elmo.bilm.compute_dtype)
        self._words = trace(self._word_vectors, tf.TensorSpec((None,), tf.string))
        keep = bool(self.n_boundaries)
        compute = functools.partial(elmo.bilm.layers_of_sentences, keep_boundaries=keep)
        self._layers = trace(
            lambda x, lengths: self._select(compute(x, lengths)),
            x,
            tf.TensorSpec((None,), tf.int32),
        )

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

    def _select(self, layers):
        """All layers, or a list of one, in float32 if they are pooled afterwards."""
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
    first_mix = elmo.mixes[0] if elmo.mixes and weights is None else None
    if first_mix is not None and gamma is None:
        return first_mix
    if first_mix is not None:
        mix = ScalarMix.from_config(first_mix.get_config())
    else:
        factor = 1.0 if gamma is None else gamma
        mix = ScalarMix(mix=weights, gamma=factor, dtype=elmo.dtype_policy)
    mix.build([(None, 2 * elmo.config.projection_dim)] * (elmo.config.n_layers + 1))
    if first_mix is not None:
        mix.set_weights(first_mix.get_weights())
        mix.assign(gamma=gamma)
    return mix


class CompiledEngine(TensorFlowEngine):
    """`TensorFlowEngine` for GPUs: a batch is padded to one of a few shapes.

    Each shape is compiled once. Where XLA can't, a warning says so, and the graph of
    `TensorFlowEngine` computes.
    """

    ahead = True

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._is_compiled = True
        self._words_of_shape = functools.cache(self._compile_words)
        self._layers_of_shape = functools.cache(self._compile_layers)

    def word_vectors(self, words: Sequence[bytes]) -> np.ndarray:
        check_process()
        if self._is_compiled and words:
            # A begin, an end and one of padding; a normal form may have more bytes.
            longest = max(map(len, words)) + 3
            if self.config.unicode_normalization:
                longest = self.config.max_characters_per_token
            shape = next_size(len(words), WORD_GROWTH), self.config.ids_per_token
            ids = np.zeros(shape, np.int32)
            ids[: len(words)] = characters_of_words(tf.constant(words), self.config)
            n_characters = next((n for n in CHARACTERS if n >= longest), longest)
            n_characters = min(n_characters, self.config.max_characters_per_token)
            vectors = self._run(self._words_of_shape, (*shape, n_characters), ids)
            if vectors is not None:
                return vectors[: len(words)]
        return super().word_vectors(words)

    def compute(self, x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        check_process()
        lengths = lengths + 2
        n_rows, time = padded_shape(len(lengths), int(lengths.max(initial=0)))
        if self._is_compiled and time <= LONGEST:
            steps, row_lengths = np.arange(time), np.zeros(n_rows, np.int32)
            row_lengths[: len(lengths)] = lengths
            real = steps < row_lengths[:, None]
            rows = np.zeros((n_rows, time, x.shape[1]), x.dtype)
            rows[real] = x
            layers = self._run(self._layers_of_shape, rows.shape, rows, row_lengths)
            if layers is not None:
                inner = (steps > 0) & (steps < row_lengths[:, None] - 1)
                return layers[:, real if self.n_boundaries else inner]
        return super().compute(x, lengths - 2)

    def _run(self, function_of, shape, *arrays):
        """The array that the function of this shape returns; None without XLA."""
        try:
            return function_of(*shape)(*map(tf.constant, arrays)).numpy()
        except NOT_COMPILED as error:
            reason = why_not_compiled(error)
            warnings.warn(f"XLA can't compile the vectors: {reason}", stacklevel=2)
            self._is_compiled = False
            return None

    def _compile_words(self, n_words, n_ids, n_characters):
        def compute(ids):
            pieces = cut_pieces(ids, [n_characters], self.config)
            return self.elmo.bilm.token_representation.call_pieces(pieces)

        spec = tf.TensorSpec((n_words, n_ids), tf.int32)
        return trace(compute, spec, jit_compile=True)

    def _compile_layers(self, n_rows, time, dim):
        def compute(x, lengths):
            hidden = self.elmo.bilm.lstm.call_padded(x, lengths)
            return tf.stack(self._select([tf.concat([x, x], axis=-1), *hidden]))

        x = tf.TensorSpec((n_rows, time, dim), self.elmo.bilm.compute_dtype)
        lengths = tf.TensorSpec((n_rows,), tf.int32)
        return trace(compute, x, lengths, jit_compile=True)


def engine_of_devices() -> type[TensorFlowEngine]:
    """The engine for a GPU, if there is one, or for CPUs."""
    on_gpu = tf.config.list_physical_devices("GPU")
    return CompiledEngine if on_gpu else TensorFlowEngine


def next_size(n: int, growth: float, first: int = 1) -> int:
    """The smallest of sizes, each `growth` times the one before, that is at least n.

    >>> [next_size(n, 1.3, first=4) for n in (1, 5, 6, 8, 30)]
    [4, 5, 6, 9, 37]
    """
    size = first
    while size < n:
        size = max(size + 1, int(size * growth))
    return size


def padded_shape(n_rows: int, time: int) -> tuple[int, int]:
    """Rows and steps of a batch after padding; a full batch gets few rows of padding.

    >>> [padded_shape(*batch) for batch in ((1, 9), (10, 9), (900, 9), (1100, 8))]
    [(1, 9), (16, 9), (1024, 9), (1184, 9)]
    """
    time = next_size(time, TIME_GROWTH, SHORTEST)
    full = int(TOKENS * TIME_GROWTH / time) + 1
    rows = next_size(n_rows, ROW_GROWTH)
    return (min(rows, full) if n_rows <= full else rows), time
