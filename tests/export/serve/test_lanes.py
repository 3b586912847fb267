"""Short requests don't wait for long ones."""

import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from export.serve.batcher import Batcher, Request
from export.serve.config import Config
from export.serve.errors import RequestError
from export.serve.lanes import NICENESS, Lane, run_options, session_config
from tests.support import stand_in
from tests.support.waiting import PATIENCE, wait_until


class LongGate(stand_in.Gate):
    """A gate that stops long requests only."""

    def run(self, signature, inputs, keys, *, lane, seconds):
        if lane is Lane.SHORT:
            return self._run(signature, inputs, keys, lane=lane, seconds=seconds)
        return super().run(signature, inputs, keys, lane=lane, seconds=seconds)


def text(servable, words, seconds=None):
    inputs = {"sentences": np.array([" ".join(words).encode()], object)}
    return Request(servable, servable.signature(""), inputs, ("elmo",), seconds)


def test_a_short_request_is_answered_while_a_long_one_is_computed(servable):
    gate = LongGate(servable)
    batcher = Batcher(Config(num_batch_threads=1, long_request_tokens=3))
    long = [batcher.submit(text(gate, "abcd")) for _ in range(2)]
    gate.wait_for(1)
    short = batcher.submit(text(gate, "abc"))
    vectors = short.result(PATIENCE)["elmo"][0]
    np.testing.assert_array_equal(vectors, stand_in.vectors("abc"))
    assert len(gate.batches) == 1  # long ones are computed one at a time
    gate.open()
    for each in long:
        vectors = each.result(PATIENCE)["elmo"][0]
        np.testing.assert_array_equal(vectors, stand_in.vectors("abcd"))
    batcher.close()


def test_a_long_request_is_given_up_at_its_deadline(servable):
    batcher = Batcher(Config(long_request_tokens=3))
    endless = text(servable, ["slow"] * 60_000, seconds=0.5)
    with pytest.raises(RequestError) as caught:
        batcher.submit(endless).result(PATIENCE)
    assert caught.value.code.name == "DEADLINE_EXCEEDED"
    batcher.close()


@pytest.mark.skipif(sys.platform != "linux", reason="reads the threads of Linux")
def test_the_threads_of_long_requests_are_nicer_than_those_of_short_ones():
    session_config(concurrent=3)

    def niceness():
        stats = [p.read_text() for p in Path("/proc/self/task").glob("*/stat")]
        return [int(stat.rsplit(")")[-1].split()[16]) for stat in stats]

    usual = min(niceness())
    assert niceness().count(min(usual + NICENESS, 19)) >= 2


def test_both_lanes_compute_the_same(servable):
    signature = servable.signature("")
    inputs = {"sentences": np.array([b"a bb", b"c"], object)}
    keys = ("elmo", "layers")
    short, long = (servable.run(signature, inputs, keys, lane=lane) for lane in Lane)
    for key in keys:
        np.testing.assert_array_equal(short[key], long[key])
    assert run_options(Lane.LONG, 2.5).timeout_in_ms == 2500


def test_closing_ends_what_is_computed_after_the_grace(servable):
    gate = LongGate(servable)
    batcher = Batcher(Config(num_batch_threads=1, long_request_tokens=3))
    computed = batcher.submit(text(gate, "abcd"))
    gate.wait_for(1)
    waiting = batcher.submit(text(gate, "abcde"))
    closing = threading.Thread(target=batcher.close, args=(0.1,))
    closing.start()
    for each in (computed, waiting):
        with pytest.raises(RequestError, match="shutting down") as caught:
            each.result(PATIENCE)
        assert caught.value.code.name == "UNAVAILABLE"
    closing.join(PATIENCE)
    gate.open()  # the late result is dropped
    wait_until(lambda: not batcher._computed)
