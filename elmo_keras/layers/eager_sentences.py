"""The layers of a biLM over flat sentences, for calls outside of graphs."""

import tensorflow as tf

from elmo_keras.layers.graph_later import GraphLater
from elmo_keras.layers.row_runs import SIGNATURE, Runs
from elmo_keras.layers.run_compiler import RunCompiler

WORDS = tf.TensorSpec((None,), tf.string)
LENGTHS = tf.TensorSpec((None,), tf.int32)


class EagerSentences:
    """Computes `bilm.layers_of_sentences` without a gradient.

    The first calls run operation by operation, see `GraphLater`.

    Args:
        bilm: a `BidirectionalLanguageModel`.
        keep_boundaries: as there.

    Attributes:
        jit_compile: whether a graph is made after the first calls, and its LSTMs are
            compiled, see `RunCompiler`; if not, all calls run operation by operation.
    """

    def __init__(self, bilm, keep_boundaries: bool):
        self._bilm, self._keep_boundaries = bilm, keep_boundaries
        self.jit_compile = True
        self._first = GraphLater(self._layers, WORDS, LENGTHS)
        self._compiled = {}  # a graph for each kind of `Runs`
        self._compiler: RunCompiler | None = None

    def __reduce__(self):
        return EagerSentences, (self._bilm, self._keep_boundaries)

    def of(self, words: tf.Tensor, lengths: tf.Tensor) -> list[tf.Tensor]:
        """All layers of the sentences, each `(tokens, 2 · projection_dim)`.

        Args:
            words: string `(tokens,)`.
            lengths: int32 `(sentences,)`.
        """
        if not self.jit_compile:
            return self._layers(words, lengths)
        runs = self._runs(lengths)
        if runs is not None:
            return self._compiled[runs.kind](words, lengths, *runs.tensors)
        return self._first(words, lengths)

    def _runs(self, lengths):
        if self._compiler is None:
            self._compiler = RunCompiler(self._bilm.lstm, self._compile)
        if not self._compiler.possible:
            return None
        return self._compiler.runs_for(lengths.numpy() + 2)

    def _layers(self, words, lengths, runs=None):
        return self._bilm.layers_of_sentences(
            words, lengths, keep_boundaries=self._keep_boundaries, runs=runs
        )

    def _compile(self, lengths, runs):
        if runs.kind not in self._compiled:
            self._compiled[runs.kind] = tf.function(
                lambda words, lengths, *tensors: self._layers(
                    words, lengths, Runs(*tensors, runs.kind)
                ),
                input_signature=[WORDS, LENGTHS, *SIGNATURE],
                autograph=False,
            )
        words = tf.fill([tf.reduce_sum(lengths - 2)], "a")
        self._compiled[runs.kind](words, tf.constant(lengths - 2), *runs.tensors)
