"""The speed of training, and the time left."""

import pytest

from elmo_keras.training import pace
from elmo_keras.training.pace import Pace


def test_the_speed_is_the_mean_of_the_last_hundred_steps():
    found = Pace()
    assert not found.is_known and found.scalars() == {}
    found.add(10, 1000, seconds=99.0, waited=99.0)
    for _ in range(9):
        found.add(10, 2000, seconds=1.0, waited=0.25)
    assert found.tokens_per_second == pytest.approx(19000 / 108)
    found.add(10, 2000, seconds=1.0, waited=0.25)
    assert found.tokens_per_second == 2000 and found.waiting == 0.25
    found.add(4, 2, seconds=0.1, waited=0.0)  # the end of an epoch changes little
    assert found.tokens_per_second == pytest.approx(20002 / 10.1)
    assert found.scalars()["tokens/s"] == found.tokens_per_second


def test_the_time_left_comes_from_all_steps_since_the_start(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(pace.time, "perf_counter", lambda: now[0])
    found = Pace()
    assert found.seconds_left(7, 17) is None
    found.start(7)
    assert found.seconds_left(7, 17) is None
    now[0] = 104.0
    found.start(9)  # does nothing
    assert found.seconds_left(9, 17) == pytest.approx(16.0)
    assert found.seconds_left(17, 17) == 0
