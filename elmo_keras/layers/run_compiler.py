"""Compiles the functions of `compiled_runs` while other batches are computed."""

import logging
import threading
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from elmo_keras.layers.bidirectional_lstm import BidirectionalLSTM
from elmo_keras.layers.row_runs import MOST_ROWS, Runs, logarithms, runs_of

STAGES = 1, 4, 6, 8  # powers of two that are compiled together
# Compiling a function takes as long as it saves in about 1,000 steps.
STEPS_BEFORE = 500  # of earlier batches, for each function that a batch lacks
STEPS_TO_WAIT = 2000  # of one batch, for each function that it lacks


class RunCompiler:
    """Says which batches are computed in compiled runs, and compiles what they need.

    Compiling begins in a thread of its own once as many steps have been computed as
    take about that long, so that it costs nobody who embeds a few sentences. Batches
    are computed without compiled functions until these are there; only a batch of
    thousands of steps waits for them. If XLA fails, all stays as before.

    Several threads can use it.

    Args:
        lstm: the LSTMs.
        compute: computes a batch of any sentences in compiled runs, given their lengths
            with boundaries, int32 `(sentences,)`, and their `Runs`.
    """

    def __init__(
        self,
        lstm: BidirectionalLSTM,
        compute: Callable[[np.ndarray, Runs], object],
    ):
        self.possible = can_compile(lstm)
        self._compute = compute
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._compiled = 0  # functions, of 1, 2, 4, … rows
        self._steps = 0

    def runs_for(self, lengths: np.ndarray) -> Runs | None:
        """The runs of a batch, or None to compute it without compiled functions.

        Args:
            lengths: the number of tokens of each sentence with its boundaries.
        """
        if not self.possible or not 0 < len(lengths) <= MOST_ROWS:
            return None
        needed = int(logarithms(len(lengths))) + 1
        if needed > self._compiled:
            needed = next(stage for stage in STAGES if stage >= needed)
            self._note(needed, int(lengths.max()))
        powers = self._compiled
        return runs_of(lengths, powers) if needed <= powers else None

    def _note(self, needed, steps):
        """Counts the steps of a batch that lacks functions; begins to compile them."""
        with self._lock:
            missing = needed - self._compiled
            self._steps += steps
            if self._thread is None and self._steps >= STEPS_BEFORE * missing > 0:
                self._steps = 0
                # Not a daemon: the process ends between two functions, not in one.
                self._thread = threading.Thread(target=self._compile, args=(needed,))
                self._thread.start()
            thread = self._thread
        if thread and steps >= STEPS_TO_WAIT * missing > 0:
            thread.join()

    def _compile(self, needed):
        try:
            for power in range(self._compiled, needed):
                if not threading.main_thread().is_alive():
                    return
                lengths = np.full(2**power, 3, np.int32)
                self._compute(lengths, runs_of(lengths, needed))
            self._compiled = needed
        except Exception as error:  # whatever XLA raises: vectors don't depend on it
            self.possible = False
            reason = str(error).partition("\n")[0]
            logging.getLogger(__name__).warning(
                "XLA can't compile the LSTMs. They run without it: %s", reason
            )
        finally:
            with self._lock:
                self._thread = None


def can_compile(lstm: BidirectionalLSTM) -> bool:
    """Whether compiled runs are possible, and faster, on this machine."""
    layers = [*lstm.forward.lstms, *lstm.backward.lstms]
    return (
        tf.test.is_built_with_xla()
        and not tf.config.list_logical_devices("GPU")
        and lstm.compute_dtype == "float32"
        and all(layer.can_run_compiled for layer in layers)
    )
