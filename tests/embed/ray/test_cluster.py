"""Connecting to a cluster."""

import importlib
import signal
import socket

import pytest


@pytest.fixture
def ray(ray):
    """A Ray that is not connected yet, and notes what it is asked for."""
    ray.is_initialized = lambda: False
    ray.asked, ray.ended = [], []

    def init(**kwargs):
        ray.asked.append(kwargs)
        print("a worker has ended")
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    ray.init, ray.shutdown = init, lambda: ray.ended.append(True)
    return ray


@pytest.fixture
def cluster(ray):
    return importlib.import_module("elmo_keras.embed.on_ray.cluster")


def test_without_an_address_a_quiet_cluster_is_started_and_ended(
    ray, cluster, monkeypatch, capsys
):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    before = signal.getsignal(signal.SIGTERM)
    with cluster.connected(None):
        assert ray.asked[0]["address"] == "local" and ray.asked[0]["num_cpus"] >= 1
        assert signal.getsignal(signal.SIGTERM) is before
        assert not ray.ended
    assert ray.ended and capsys.readouterr().out == ""


def test_the_address_of_the_environment_is_used(ray, cluster, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    with cluster.connected(None):
        assert ray.asked[0]["address"] == "auto" and "num_cpus" not in ray.asked[0]


def test_a_program_that_is_connected_stays_so(ray, cluster, monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    with cluster.connected(None):
        pass
    assert not ray.asked and not ray.ended


def test_an_address_at_which_nobody_listens_is_refused(ray, cluster):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{other.getsockname()[1]}"
        refused = pytest.raises(ConnectionError, match=f"Ray cluster at {address}")
        with refused, cluster.connected(address):
            pass
    assert not ray.asked


@pytest.mark.parametrize(
    ("machines", "workers", "expected"),
    [
        ([(2, 0)], None, (2, 1, 0)),
        ([(2, 0)], 1, (1, 2, 0)),
        ([(2, 0)], 3, (3, 0.6666, 0)),
        ([(16, 0), (16, 0)], 8, (8, 4, 0)),
        ([(16, 0), (16, 0)], 1, (1, 16, 0)),  # a worker is on one machine
        ([(0, 0), (4, 0)], None, (4, 1, 0)),
        ([(8, 1), (8, 1)], None, (2, 1, 1)),
        ([(8, 1), (8, 1)], 3, (3, 1, 0.5)),
    ],
)
def test_workers_share_what_there_is(cluster, machines, workers, expected):
    found = number, num_cpus, _ = cluster.division(machines, workers)
    assert found == expected
    assert num_cpus * number <= sum(cpus for cpus, _ in machines)


def test_a_cluster_without_processors_is_refused(cluster):
    with pytest.raises(ValueError, match="no processors"):
        cluster.division([(0, 0)], 2)
