"""Functions of flat sentences for calls outside of graphs."""

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from elmo_keras.layers.bidirectional_lstm import BidirectionalLSTM
from elmo_keras.layers.compiled_runs import SIGNATURE, Runs
from elmo_keras.layers.graph_later import GraphLater
from elmo_keras.layers.run_compiler import RunCompiler

LENGTHS = tf.TensorSpec((None,), tf.int32)


class EagerSentences:
    """A function of flat sentences, whose results have no gradient.

    The first calls run operation by operation, see `GraphLater`; later ones in compiled
    runs, see `RunCompiler`. `function` takes tokens, their lengths, int32 `(sentences,)`
    without boundaries, and `runs`, the `Runs` of the lengths with boundaries. `tokens` is
    the spec of words, or of vectors of words with boundaries.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        lstm: BidirectionalLSTM,
        tokens: tf.TensorSpec,
        most_rows: float = math.inf,
    ):
        self._arguments = function, lstm, tokens, most_rows
        self._function, self._lstm, self._tokens = function, lstm, tokens
        self.jit_compile = True  # if not, all calls run operation by operation
        self._first = GraphLater(function, tokens, LENGTHS, most_rows=most_rows)
        self._compiled = {}  # a graph for each kind of `Runs`
        self._compiler: RunCompiler | None = None

    def __reduce__(self):
        return EagerSentences, self._arguments

    def __call__(self, tokens: tf.Tensor, lengths: tf.Tensor) -> Any:
        if not self.jit_compile:
            return self._function(tokens, lengths)
        if self._compiler is None:  # the LSTMs are built by now
            self._compiler = RunCompiler(self._lstm, self._compile)
        runs = self._compiler.runs_for(lengths.numpy() + 2)
        if runs is not None:
            return self._compiled[runs.kind](tokens, lengths, *runs.tensors)
        return self._first(tokens, lengths)

    def _compile(self, lengths, runs):
        if runs.kind not in self._compiled:
            self._compiled[runs.kind] = tf.function(
                lambda tokens, lengths, *tensors: self._function(
                    tokens, lengths, runs=Runs(*tensors, runs.kind)
                ),
                input_signature=[self._tokens, LENGTHS, *SIGNATURE],
                autograph=False,
            )
        inner = lengths - 2
        if self._tokens.dtype == tf.string:
            tokens = tf.fill([inner.sum()], "a")
        else:
            shape = lengths.sum(), *self._tokens.shape[1:]
            tokens = tf.zeros(shape, self._tokens.dtype)
        self._compiled[runs.kind](tokens, tf.constant(inner), *runs.tensors)
