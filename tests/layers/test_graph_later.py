"""Functions that become a graph after several calls."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import tensorflow as tf

from elmo_keras.layers import graph_later
from elmo_keras.layers.graph_later import GraphLater, traced

NUMBERS = tf.TensorSpec((None,), tf.float32)


@pytest.fixture
def noted(monkeypatch):
    """A function that doubles, and whether each of its calls was eager."""
    monkeypatch.setattr(graph_later, "CALLS_BEFORE_GRAPH", 3)
    eager = []

    def double(x):
        eager.append(tf.executing_eagerly())
        return 2 * x

    return double, eager


@pytest.mark.parametrize(
    ("sizes", "options"),
    [((1, 2, 3, 4, 5), {}), ((3, 2, 1, 1), {"most_rows": 5})],
    ids=["calls", "rows"],
)
def test_first_calls_are_eager_and_the_graph_is_traced_once(noted, sizes, options):
    double, eager = noted
    later = GraphLater(double, NUMBERS, **options)
    for size in sizes:
        assert later(tf.ones(size)).numpy().tolist() == [2.0] * size
    assert eager == [True, True, False]


def test_a_traced_function_is_not_called_eagerly(noted):
    double, eager = noted
    doubled = traced(double, NUMBERS)
    assert [doubled(tf.ones(n)).shape[0] for n in (1, 2)] == [1, 2]
    assert eager == [False]


def test_threads_trace_one_graph(noted):
    double, eager = noted
    later = GraphLater(double, NUMBERS)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(later, [tf.ones(2)] * 8))
    assert sorted(eager) == [False, True, True]
