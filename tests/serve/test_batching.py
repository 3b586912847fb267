"""Concurrent requests share a batch, none affects another or waits for a long one."""

import contextlib
import os
import time

import grpc
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.export.sentences import splitter
from elmo_keras.serve.batcher import Batcher, Request, longest
from elmo_keras.serve.config import Config
from elmo_keras.serve.errors import RequestError
from elmo_keras.serve.models import Metrics
from elmo_keras.serve.servable import SavedModelServable
from tests.support import stand_in
from tests.support.waiting import PATIENCE


@pytest.fixture(scope="module")
def servable(tmp_path_factory):
    servable = SavedModelServable(stand_in.save(tmp_path_factory.mktemp("model")) / "1")
    yield servable
    servable.close()


@pytest.fixture
def gate(servable):
    return stand_in.Gate(servable)


@pytest.fixture
def batcher():
    """Makes batchers with one thread, and closes them at the end."""
    with contextlib.ExitStack() as stack:

        def make(**options):
            config = Config(**{"num_batch_threads": 1} | options)
            instance = Batcher(config, Metrics(waiting=lambda: 0).rows)
            stack.callback(instance.close)
            return instance

        yield make


@pytest.mark.parametrize(("processors", "batches"), [(1, 1), (3, 1), (64, 2)])
def test_two_batches_at_once_have_two_processors_each(monkeypatch, processors, batches):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)))
    assert Config().num_batch_threads == batches


def text(servable, *lines, keys=("elmo",), seconds=None):
    signature, inputs = servable.signature(""), {"sentences": np.array(lines, object)}
    return Request(servable, signature, inputs, keys, seconds)


def tokens(servable, rows, lengths, *, keys=("elmo",)):
    inputs = {
        "tokens": np.array(rows, object),
        "sequence_len": np.array(lengths, "int32"),
    }
    return Request(servable, servable.signature("tokens"), inputs, keys)


def submit_while_busy(batcher, gate, *requests):
    """Puts requests into the queue while the thread computes another one."""
    first = batcher.submit(text(gate, b"first", keys=("word_emb",)))
    gate.wait_for(1)
    waiting = [batcher.submit(request) for request in requests]
    gate.open()
    first.result(PATIENCE)
    return waiting


def test_each_output_of_a_batch_equals_that_of_the_request_alone(
    batcher, gate, servable
):
    keys = tuple(servable.signature("tokens").outputs)
    lines = [[b"a bb", b"ccc"], [b"d"], [b"e e e f"], [], [b"", b""]]
    rows = [([[b"a", b""], [b"bb", b"c"]], [1, 2]), ([[b"d", b"e", b"", b""]], [2])]
    requests = [text(gate, *each, keys=keys) for each in lines]
    requests += [tokens(gate, *each, keys=keys) for each in rows]
    waiting = submit_while_busy(batcher(), gate, *requests)
    for request, each in zip(requests, waiting):
        alone = servable.run(request.signature, request.inputs, keys)
        for key, array in each.result(PATIENCE).items():
            np.testing.assert_array_equal(array, alone[key], key)
    assert gate.sizes == [1, 6, 3]


def test_requests_with_different_outputs_or_signatures_do_not_share_a_batch(
    batcher, gate
):
    requests = [
        text(gate, b"a"),
        text(gate, b"b", keys=("default",)),
        tokens(gate, [[b"c"]], [1]),
        text(gate, b"d"),
    ]
    for each in submit_while_busy(batcher(), gate, *requests):
        each.result(PATIENCE)
    assert gate.sizes == [1, 2, 1, 1]
    assert gate.batches[2][1] == ("default",)


@pytest.mark.parametrize(
    ("options", "lines", "sizes"),
    [
        ({"max_batch_size": 5}, [[b"a", b"b"]] * 5, [1, 4, 4, 2]),
        # A long sentence does not pad many short ones.
        ({"max_batch_tokens": 100}, [[b"a"], [b"b"], [b"c " * 50]], [1, 2, 1]),
    ],
)
def test_a_batch_is_bounded(batcher, gate, options, lines, sizes):
    requests = [text(gate, *each) for each in lines]
    for each in submit_while_busy(batcher(**options), gate, *requests):
        each.result(PATIENCE)
    assert gate.sizes == sizes


def test_a_failing_request_does_not_affect_its_neighbours(batcher, gate):
    requests = [text(gate, b"a"), text(gate, b"bad"), text(gate, b"b")]
    first, failing, second = submit_while_busy(batcher(), gate, *requests)
    for good in (first, second):
        assert good.result(PATIENCE)["elmo"][0, 0, 0] == 1
    with pytest.raises(RequestError, match="a bad token") as caught:
        failing.result(PATIENCE)
    assert caught.value.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "node" not in str(caught.value)  # of the graph


def test_a_request_waits_for_others_until_its_batch_is_full(batcher, gate):
    gate.open()
    patient = batcher(batch_timeout_micros=3600 * 10**6, max_batch_size=2)
    first = patient.submit(text(gate, b"a"))
    time.sleep(0.05)
    assert not first.done()
    second = patient.submit(text(gate, b"b"))  # the batch is full
    assert first.result(PATIENCE) and second.result(PATIENCE)
    assert gate.sizes == [2]


def test_a_short_request_is_answered_while_a_long_one_is_computed(
    batcher, gate, servable
):
    instance = batcher(long_request_tokens=3)
    long = [instance.submit(text(gate, b"a b c d")) for _ in range(2)]
    gate.wait_for(1)
    vectors = instance.submit(text(servable, b"a b c")).result(PATIENCE)["elmo"][0]
    np.testing.assert_array_equal(vectors, stand_in.vectors("abc"))
    assert len(gate.batches) == 1  # long ones are computed one at a time
    gate.open()
    for each in long:
        vectors = each.result(PATIENCE)["elmo"][0]
        np.testing.assert_array_equal(vectors, stand_in.vectors("abcd"))


def test_a_long_request_is_given_up_at_its_deadline(batcher, servable):
    endless = text(servable, b"slow " * 60_000, seconds=0.5)
    with pytest.raises(RequestError) as caught:
        batcher(long_request_tokens=3).submit(endless).result(PATIENCE)
    assert caught.value.code is grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.mark.parametrize("name", ["spaces", "whitespace", "unicode_script", "words"])
def test_no_text_has_more_tokens_than_are_counted(name):
    texts = [
        b"a bb",
        b"",
        b"  ",
        b" c",
        b"d\te\n f ",
        b"x" * 50,
        "ein é, 한국어!".encode(),
    ]
    texts += [b"isn't it... 7.5% o'clock?!", "it’s án't".encode()]
    if name == "unicode_script":
        pytest.importorskip("tensorflow_text")
    tokens = splitter(name)(tf.constant(texts))
    counts = [longest({"sentences": np.array([t], object)}, name) for t in texts]
    assert np.all(counts >= tokens.row_lengths())
    assert counts[:4] == [2, 0, 0, 1]


@pytest.mark.parametrize(
    ("lines", "received"), [([b"a b c d", b"e"], 8), ([b""] * 7, 7)]
)
def test_too_many_tokens_are_refused_with_the_numbers(
    batcher, servable, lines, received
):
    """They count with their padding, and a sentence without tokens as one."""
    instance = batcher(max_request_tokens=6)
    message = rf"6 tokens with its padding \(--max-request-tokens\).* {received}"
    with pytest.raises(RequestError, match=message) as caught:
        instance.submit(text(servable, *lines))
    assert caught.value.code is grpc.StatusCode.INVALID_ARGUMENT
    assert instance.submit(text(servable, b"a b c", b"d")).result(PATIENCE)
