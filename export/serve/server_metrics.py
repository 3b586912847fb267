"""Metrics of the server, for Prometheus."""

import time
from collections.abc import Callable

import prometheus_client as prometheus

ROWS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Counters of one server.

    Args:
        model: the name of the model, a label of every metric.
    """

    def __init__(self, model: str):
        self.registry = prometheus.CollectorRegistry()
        self._model = model
        self._requests = self._make(
            prometheus.Counter,
            "requests",
            "Requests answered or refused, by status.",
            labels=["api", "method", "status"],
        )
        self._seconds = self._make(
            prometheus.Histogram,
            "request_seconds",
            "Time from a request to its answer.",
            labels=["api", "method"],
        )
        self._rows = self._make(
            prometheus.Histogram, "batch_rows", "Sentences in a batch.", buckets=ROWS
        ).labels(model)

    def request(self, api: str, method: str, status: str, *, begin: float) -> None:
        """Counts a request that began at the time `begin` of `time.perf_counter`."""
        self._requests.labels(self._model, api, method, status).inc()
        seconds = time.perf_counter() - begin
        self._seconds.labels(self._model, api, method).observe(seconds)

    def batch(self, rows: int) -> None:
        """Counts a batch and its sentences."""
        self._rows.observe(rows)

    def follow(self, name: str, description: str, value: Callable[[], float]) -> None:
        """Adds a gauge that calls `value` whenever it is read."""
        gauge = self._make(prometheus.Gauge, name, description)
        gauge.labels(self._model).set_function(value)

    def page(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return prometheus.generate_latest(self.registry)

    def _make(self, kind, name, description, *, labels=(), **kwargs):
        labels = ["model_name", *labels]
        name = f"elmo_{name}"
        return kind(name, description, labels, registry=self.registry, **kwargs)
