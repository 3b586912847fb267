"""How machines are divided among workers."""

import pytest

from elmo_keras.embed.on_ray.worker_division import division


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
def test_workers_share_what_there_is(machines, workers, expected):
    found = division(machines, workers)
    assert found == expected
    assert found.num_cpus * found.number <= sum(cpus for cpus, _ in machines)


def test_a_cluster_without_processors_is_refused():
    with pytest.raises(ValueError, match="no processors"):
        division([(0, 0)], 2)
