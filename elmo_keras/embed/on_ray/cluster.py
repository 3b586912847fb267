"""The Ray cluster of a job, and how its processors are divided among workers."""

import contextlib
import math
import os
from collections.abc import Iterator
from typing import NamedTuple

import ray

# A local cluster needs little: pieces are small, and vectors go to files.
OBJECT_STORE_BYTES = 2**27
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


class Workers(NamedTuple):
    """The workers of a job.

    Attributes:
        number: how many there are.
        num_cpus, num_gpus: processors and GPUs of each.
    """

    number: int
    num_cpus: float
    num_gpus: float


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
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    own = {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES}
    own |= {"num_cpus": len(os.sched_getaffinity(0))}
    try:
        ray.init(
            address=address,
            logging_level="ERROR",
            log_to_driver=False,
            **(own if address == "local" else {}),
        )
    except (ConnectionError, ValueError) as error:
        raise ConnectionError(
            f"There should be a Ray cluster at {address}. {error}"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def divided(workers: int | None) -> Workers:
    """Divides the cluster among workers.

    Each has a GPU, or a share of one, if there are any; otherwise all have the same
    number of processors.

    Args:
        workers: how many; None for one on each GPU or processor.

    Raises:
        ValueError: the cluster has no processors.
    """
    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return division([(m.get("CPU", 0), m.get("GPU", 0)) for m in machines], workers)


def division(machines: list[tuple[float, float]], workers: int | None) -> Workers:
    """As `divided`, for machines with these numbers of processors and GPUs.

    >>> division([(2, 0)], 4)
    Workers(number=4, num_cpus=0.5, num_gpus=0)
    >>> division([(0, 0), (16, 2), (16, 2)], None)
    Workers(number=4, num_cpus=1, num_gpus=1.0)
    """
    n_gpus = int(sum(gpus for _, gpus in machines))
    if n_gpus:
        number = workers or n_gpus
        return Workers(number, 1, 1 / math.ceil(number / n_gpus))
    n_cpus = sum(cpus for cpus, _ in machines)
    if n_cpus <= 0:
        raise ValueError("The Ray cluster has no processors for workers.")
    number = workers or int(n_cpus)
    share = min(n_cpus / number, max(cpus for cpus, _ in machines))
    # Ray counts processors below one in steps of 0.0001.
    share = math.floor(share) if share >= 1 else math.floor(share * 1e4) / 1e4
    return Workers(number, share, 0)
