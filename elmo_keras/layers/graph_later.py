"""Functions that become a graph once they have been called several times."""

import math
import threading
from collections.abc import Callable
from typing import Any

import tensorflow as tf

CALLS_BEFORE_GRAPH = 20  # they take as long as the graph takes to trace
FEW_ROWS = 1024  # with more, the graph saves what it takes to trace


class GraphLater:
    """A function of tensors: operation by operation at first, then as a graph.

    A graph takes longer to trace than a few sentences to compute. Several threads can
    use one. After `most_rows` rows of the first argument, in all calls, it is traced too.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *signature: tf.TensorSpec,
        most_rows: float = math.inf,
    ):
        self._function, self._signature = function, signature
        self._most_rows = most_rows
        self._lock = threading.Lock()
        self._n_calls = self._n_rows = 0
        self.graph: Callable[..., Any] | None = None

    def __call__(self, *tensors: tf.Tensor) -> Any:
        if self.graph is not None:
            return self.graph(*tensors)
        with self._lock:
            self._n_calls += 1
            self._n_rows += len(tensors[0])
            many = self._n_calls >= CALLS_BEFORE_GRAPH or self._n_rows > self._most_rows
            if many and self.graph is None:
                self.graph = traced(self._function, *self._signature)
        return (self.graph or self._function)(*tensors)


def traced(function: Callable[..., Any], *signature: tf.TensorSpec) -> Callable:
    """The graph of a function of tensors, one for all shapes of the signature."""
    # A concrete function: TensorFlow warns if a `tf.function` is made repeatedly.
    return tf.function(function, autograph=False).get_concrete_function(*signature)
