"""Ctrl-C and SIGTERM set an event the first time, and end the program the second."""

import os
import signal

import pytest

from elmo_keras.cli.command import stopping


@pytest.fixture(autouse=True)
def usual_handler():
    """Python's handler of Ctrl-C, which a process in the background lacks."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_sets_the_event(number):
    before = signal.getsignal(number)
    with stopping() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        assert stop.is_set()
        assert signal.getsignal(number) == before
    assert signal.getsignal(number) == before


def test_the_second_ctrl_c_interrupts():
    with pytest.raises(KeyboardInterrupt), stopping() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.is_set()
        os.kill(os.getpid(), signal.SIGINT)
