"""The Ray cluster of a job."""

import contextlib
import math
import os
import signal
import socket
import threading
from collections.abc import Iterator

import ray

OBJECT_STORE_BYTES = 2**27
LOCAL = "local"  # the address of a new cluster
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Connects to a cluster, or starts one on this machine, unless there is a connection."""
    if ray.is_initialized():
        yield
        return
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        # There Ray prints each end of a worker, which the job counts itself.
        _connect(address or os.environ.get("RAY_ADDRESS") or LOCAL)
        try:
            yield
        finally:
            ray.shutdown()


def _connect(address):
    kinds = {"address": address, "logging_level": "ERROR", "log_to_driver": False}
    if address == LOCAL:
        affinity = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count()))
        kinds |= {"num_cpus": len(affinity(0)), "include_dashboard": False}
        # Little is needed: pieces are small, and vectors go to files.
        kinds |= {"object_store_memory": OBJECT_STORE_BYTES}
    handler = signal.getsignal(signal.SIGTERM)
    try:
        # `HOST:PORT` at which nobody listens is refused; Ray itself tries for minutes.
        host, _, port = address.rpartition(":")
        if port.isdecimal() and "/" not in host:
            socket.create_connection((host.strip("[]"), int(port)), timeout=20).close()
        ray.init(**kinds)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"There should be a Ray cluster at {address}. {error}"
        ) from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # Ray has put its own in place


def division(
    machines: list[tuple[float, float]], workers: int | None
) -> tuple[int, float, float]:
    """The number of workers, and the processors and GPUs of each, given machines' own.

    >>> division([(2, 0)], 4)
    (4, 0.5, 0)
    >>> division([(0, 0), (16, 2), (16, 2)], None)
    (4, 1, 1.0)
    """
    n_gpus = int(sum(gpus for _, gpus in machines))
    if n_gpus:
        number = workers or n_gpus
        return number, 1, 1 / math.ceil(number / n_gpus)
    n_cpus = sum(cpus for cpus, _ in machines)
    if n_cpus <= 0:
        raise ValueError("The Ray cluster has no processors for workers.")
    number = workers or int(n_cpus)
    share = min(n_cpus / number, max(cpus for cpus, _ in machines))
    # Ray counts processors below one in steps of 0.0001.
    share = math.floor(share) if share >= 1 else math.floor(share * 1e4) / 1e4
    return number, share, 0


def divided(workers: int | None) -> tuple[int, float, float]:
    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return division([(m.get("CPU", 0), m.get("GPU", 0)) for m in machines], workers)
