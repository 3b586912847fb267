"""Standard error while libraries in C++ log to it."""

import os

import pytest

from elmo_keras.base.quiet import LOG_LEVEL, quiet

LOG = b"""WARNING: All log messages before absl::InitializeLog() is called are written
I0000 00:00:1795831451.444644   21104 port.cc:153] oneDNN custom operations are on.
To enable the following instructions: AVX2, rebuild TensorFlow.
INFO: Created TensorFlow Lite XNNPACK delegate for CPU.
"""


def test_libraries_are_quiet_and_others_are_heard(monkeypatch, capfd):
    monkeypatch.setenv(LOG_LEVEL, "3")
    with quiet():
        os.write(2, b"before\n" + LOG + b"after\n")
        assert capfd.readouterr().err == ""
    assert capfd.readouterr().err == "before\nafter\n"


@pytest.mark.parametrize("error", [ImportError, KeyboardInterrupt])
def test_what_fails_is_heard_as_a_whole(error, monkeypatch, capfd):
    monkeypatch.setenv(LOG_LEVEL, "3")
    with pytest.raises(error), quiet():
        os.write(2, LOG)
        raise error
    assert capfd.readouterr().err == LOG.decode()


def test_whoever_sets_the_level_hears_all(monkeypatch, capfd):
    monkeypatch.setenv(LOG_LEVEL, "0")
    with quiet():
        os.write(2, LOG)
    assert capfd.readouterr().err == LOG.decode()
