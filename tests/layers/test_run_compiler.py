"""When batches are computed in compiled runs."""

import threading

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.layers import BidirectionalLSTM, run_compiler
from elmo_keras.layers.compiled_runs import MOST_ROWS, SINGLE, kind_of, runs_of
from elmo_keras.layers.run_compiler import (
    LEAST_STEPS,
    LENGTHS,
    STEPS_BEFORE,
    WAITING,
    RunCompiler,
)
from tests.support.models import built
from tests.support.waiting import PATIENCE, wait_until

LONG = WAITING * max(STEPS_BEFORE.values())


@pytest.fixture(scope="module")
def lstm():
    return built(BidirectionalLSTM(1, 4, 3), 3)


class Computed:
    """Notes the numbers of sentences that were computed, once it is let go."""

    def __init__(self, error=None, *, waits=False):
        self.rows, self.go, self.error = [], threading.Event(), error
        if not waits:
            self.go.set()

    def __call__(self, lengths, runs):
        assert self.go.wait(PATIENCE)
        if self.error:
            raise self.error
        self.rows.append(len(lengths))


def batch(steps, sentences=1):
    """The lengths of sentences, the longest of which has this many tokens."""
    return np.array([steps] + [2] * (sentences - 1))


def test_a_few_sentences_compile_nothing(lstm):
    computed = Computed(waits=True)
    compiler = RunCompiler(lstm, computed)
    for _ in range(10):
        assert compiler.runs_for(batch(STEPS_BEFORE[SINGLE] // 10 - 1)) is None
    computed.go.set()
    assert not compiler._threads and computed.rows == []


@pytest.mark.parametrize("sentences", [1, 2, MOST_ROWS + 1])
def test_batches_are_computed_while_functions_are_compiled(lstm, sentences):
    computed = Computed(waits=True)
    compiler = RunCompiler(lstm, computed)
    some = batch(500, sentences)
    while not compiler._threads:
        assert compiler.runs_for(some) is None
    assert compiler.runs_for(some) is None
    computed.go.set()
    wait_until(lambda: compiler.runs_for(some) is not None)
    assert computed.rows == [len(LENGTHS[kind_of(sentences)])]
    for others in {1, 2, MOST_ROWS + 1} - {sentences}:
        assert compiler.runs_for(batch(500, others)) is None


@pytest.mark.parametrize("kind", LENGTHS)
def test_the_batch_that_is_compiled_needs_all_functions_of_its_kind(kind):
    runs = runs_of(np.array(LENGTHS[kind]))
    assert runs.kind == kind
    assert sorted(runs.table.numpy()[:, 0]) == [*range(kind.powers)]


def test_a_batch_of_thousands_of_steps_waits(lstm):
    computed = Computed()
    assert RunCompiler(lstm, computed).runs_for(batch(LONG)) is not None


def test_batches_without_few_rows_compile_nothing(lstm):
    computed = Computed()
    compiler = RunCompiler(lstm, computed)
    assert compiler.runs_for(np.array([], int)) is None
    assert compiler.runs_for(np.full(MOST_ROWS + 1, LONG)) is None
    for _ in range(LONG // LEAST_STEPS):
        assert compiler.runs_for(batch(LEAST_STEPS + 1, MOST_ROWS + 1)) is None
    assert computed.rows == []


def test_without_xla_all_stays_as_it_was(lstm, caplog):
    computed = Computed(tf.errors.UnimplementedError(None, None, "no code\nfor this"))
    compiler = RunCompiler(lstm, computed)
    assert compiler.runs_for(batch(LONG)) is None
    assert compiler.runs_for(batch(LONG)) is None
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
        lstm = built(BidirectionalLSTM(1, 4, 3, dtype="bfloat16"), 3)
    if reason == "panels":
        lstm = built(BidirectionalLSTM(1, 1024, 512), 2)
    assert not run_compiler.can_compile(lstm)
    assert RunCompiler(lstm, None).runs_for(batch(LONG)) is None
