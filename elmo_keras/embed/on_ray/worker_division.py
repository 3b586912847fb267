"""How the processors and GPUs of a cluster are divided among workers."""

import math
from typing import NamedTuple


class Workers(NamedTuple):
    """The workers of a job.

    Attributes:
        number: how many there are.
        num_cpus, num_gpus: processors and GPUs of each.
    """

    number: int
    num_cpus: float
    num_gpus: float


def division(machines: list[tuple[float, float]], workers: int | None) -> Workers:
    """Divides machines among workers.

    Each worker has a GPU, or a share of one, if there are any; otherwise all have the
    same number of processors.

    Args:
        machines: the processors and GPUs of each.
        workers: how many workers; None for one on each GPU or processor.

    Raises:
        ValueError: there are no processors.

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
