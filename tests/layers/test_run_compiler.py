"""When batches are computed in compiled runs."""

import threading

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.layers import BidirectionalLSTM, run_compiler
from elmo_keras.layers.row_runs import MOST_ROWS
from elmo_keras.layers.run_compiler import STEPS_BEFORE, STEPS_TO_WAIT, RunCompiler
from tests.support.waiting import PATIENCE, wait_until


@pytest.fixture(scope="module")
def lstm():
    lstm = BidirectionalLSTM(1, 4, 3)
    lstm.build((None, None, 3))
    return lstm


class Computed:
    """Notes the numbers of sentences that were computed, once it is let go."""

    def __init__(self, error=None):
        self.rows, self.go, self.error = [], threading.Event(), error

    def __call__(self, lengths, runs):
        assert self.go.wait(PATIENCE)
        if self.error:
            raise self.error
        self.rows.append(len(lengths))


def test_a_few_sentences_compile_nothing(lstm):
    computed = Computed()
    compiler = RunCompiler(lstm, computed)
    for _ in range(10):
        assert compiler.runs_for(np.array([STEPS_BEFORE // 10 - 1])) is None
    computed.go.set()
    assert compiler._thread is None and computed.rows == []


def test_other_batches_are_computed_while_functions_are_compiled(lstm):
    computed = Computed()
    compiler = RunCompiler(lstm, computed)
    three = np.array([STEPS_BEFORE, 5, 5])
    for _ in range(4):
        assert compiler.runs_for(three) is None
    assert compiler._thread is not None
    assert compiler.runs_for(three) is None
    computed.go.set()
    wait_until(lambda: compiler.runs_for(three) is not None)
    assert computed.rows == [1, 2, 4, 8]
    assert compiler.runs_for(three[:1]).table.numpy()[0, 0] == 0
    assert compiler.runs_for(np.full(9, 2)) is None


def test_a_batch_of_thousands_of_steps_waits(lstm):
    computed = Computed()
    computed.go.set()
    assert RunCompiler(lstm, computed).runs_for(np.array([STEPS_TO_WAIT])) is not None


def test_no_sentences_and_too_many_are_not_compiled(lstm):
    computed = Computed()
    computed.go.set()
    compiler = RunCompiler(lstm, computed)
    assert compiler.runs_for(np.array([], int)) is None
    assert compiler.runs_for(np.full(MOST_ROWS + 1, 99_999)) is None
    assert computed.rows == []


def test_without_xla_all_stays_as_it_was(lstm, caplog):
    computed = Computed(tf.errors.UnimplementedError(None, None, "no code\nfor this"))
    computed.go.set()
    compiler = RunCompiler(lstm, computed)
    assert compiler.runs_for(np.array([STEPS_TO_WAIT])) is None
    assert compiler.runs_for(np.array([STEPS_TO_WAIT])) is None
    [record] = caplog.records
    assert record.getMessage() == (
        "XLA can't compile the LSTMs. They run without it: no code"
    )


@pytest.mark.parametrize("reason", ["gpu", "half precision", "panels", "no xla"])
def test_machines_and_models_that_gain_nothing(lstm, monkeypatch, reason):
    if reason == "gpu":
        monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: [kind])
    if reason == "no xla":
        monkeypatch.setattr(tf.test, "is_built_with_xla", lambda: False)
    if reason == "half precision":
        lstm = BidirectionalLSTM(1, 4, 3, dtype="bfloat16")
        lstm.build((None, None, 3))
    if reason == "panels":
        lstm = BidirectionalLSTM(1, 1024, 512)
        lstm.build((None, None, 2))
    assert not run_compiler.can_compile(lstm)
    assert RunCompiler(lstm, None).runs_for(np.array([STEPS_TO_WAIT])) is None
