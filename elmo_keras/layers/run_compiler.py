"""Compiles the functions of `compiled_runs` while other batches are computed."""

import logging
import threading
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from elmo_keras.layers.bidirectional_lstm import BidirectionalLSTM
from elmo_keras.layers.compiled_runs import FEW, MANY, SINGLE, Kind, Runs, runs_of

# The smallest lengths of batches that need all functions of their kind, and how many
# steps take as long as compiling them.
LENGTHS = {
    SINGLE: [2],
    FEW: [4, 3, 2, 2],
    MANY: [5, 4, 3, 3, 2],
}
STEPS_BEFORE = {SINGLE: 1000, FEW: 2000, MANY: 2000}
LEAST_STEPS = 100  # of few rows after steps of more: with less, nothing is gained
WAITING = 3  # a batch waits for functions if it has this many times those steps


class RunCompiler:
    """Says which batches are computed in compiled runs, and compiles what they need.

    A thread compiles once as many steps have been computed as take about that long.
    Until then only a batch of thousands of steps waits. If XLA fails, all stays as
    before. `compute` computes a batch of sentences in runs, given their lengths with
    boundaries and their `Runs`. Several threads can use a compiler.
    """

    def __init__(
        self,
        lstm: BidirectionalLSTM,
        compute: Callable[[np.ndarray, Runs], object],
    ):
        self.possible = can_compile(lstm)
        self._compute = compute
        self._lock = threading.Lock()
        self._threads: dict[Kind, threading.Thread] = {}
        self._compiled: set[Kind] = set()
        self._steps = dict.fromkeys(LENGTHS, 0)

    def runs_for(self, lengths: np.ndarray) -> Runs | None:
        """The runs of a batch, or None to compute it without compiled functions."""
        if not self.possible or len(lengths) == 0:
            return None
        runs = runs_of(lengths)
        steps = int(tf.reduce_sum(runs.table[:, 2]))
        if runs.kind.larger_first and steps < LEAST_STEPS:
            return None
        if runs.kind not in self._compiled:
            self._note(runs.kind, steps)
        return runs if runs.kind in self._compiled else None

    def _note(self, kind, steps):
        """Counts the steps of a batch that lacks functions; begins to compile them."""
        with self._lock:
            self._steps[kind] += steps
            if kind not in self._threads and self._steps[kind] >= STEPS_BEFORE[kind]:
                # Not a daemon: the process doesn't end while something is compiled.
                thread = threading.Thread(target=self._compile, args=(kind,))
                self._threads[kind] = thread
                thread.start()
            thread = self._threads.get(kind)
        if thread and steps >= WAITING * STEPS_BEFORE[kind]:
            thread.join()

    def _compile(self, kind):
        lengths = np.array(LENGTHS[kind], np.int32)
        try:
            self._compute(lengths, runs_of(lengths))
            self._compiled.add(kind)
        except Exception as error:  # whatever XLA raises: vectors don't depend on it
            self.possible = False
            reason = str(error).partition("\n")[0]
            logging.getLogger(__name__).warning(
                "XLA can't compile the LSTMs. They run without it: %s", reason
            )


def can_compile(lstm: BidirectionalLSTM) -> bool:
    """Whether compiled runs are possible, and faster, on this machine."""
    return (
        tf.test.is_built_with_xla()
        and not tf.config.list_logical_devices("GPU")
        and lstm.compute_dtype == "float32"
        and all(
            w.shape[0] == w.shape[1] == 1 for w in lstm.weights if len(w.shape) == 4
        )
    )
