"""The Ray cluster of a job."""

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Iterator

import ray

from elmo_keras.embed.on_ray.worker_division import Workers, division

# A local cluster needs little: pieces are small, and vectors go to files.
OBJECT_STORE_BYTES = 2**27
LOCAL = "local"  # the address of a new cluster
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Connects to a cluster, or starts one on this machine, for the time of the block.

    A program that is connected already stays so.

    Args:
        address: the address of a cluster, `"auto"` for the one on this machine, or
            None for that of `RAY_ADDRESS`, or else for a new one.

    Raises:
        ConnectionError: there is no cluster at the address.
    """
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
    own = {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES}
    own |= {"num_cpus": len(os.sched_getaffinity(0))}
    handler = signal.getsignal(signal.SIGTERM)
    try:
        _check_reachable(address)
        ray.init(
            address=address,
            logging_level="ERROR",
            log_to_driver=False,
            **(own if address == LOCAL else {}),
        )
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"There should be a Ray cluster at {address}. {error}"
        ) from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # Ray has put its own in place


def _check_reachable(address):
    """Refuses `HOST:PORT` at which nobody listens; Ray itself tries for minutes."""
    host, _, port = address.rpartition(":")
    if port.isdecimal() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=20).close()


def divided(workers: int | None) -> Workers:
    """Divides the cluster among workers, see `division`."""
    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return division([(m.get("CPU", 0), m.get("GPU", 0)) for m in machines], workers)
