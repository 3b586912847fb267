"""What Prometheus is told."""

import time
from collections.abc import Callable

import prometheus_client as prometheus

ROWS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Counters of one server.

    Args:
        model: its name, a label of all.
    """

    def __init__(self, model: str):
        self.registry = prometheus.CollectorRegistry()
        self._model = model
        self._requests = self._make(
            prometheus.Counter,
            "requests",
            "Requests answered or refused, by status.",
            ["api", "method", "status"],
        )
        self._seconds = self._make(
            prometheus.Histogram,
            "request_seconds",
            "Time from a request to its answer.",
            ["api", "method"],
        )
        self._rows = self._make(
            prometheus.Histogram, "batch_rows", "Sentences of a batch.", buckets=ROWS
        ).labels(model)

    def request(self, api: str, method: str, status: str, begin: float) -> None:
        """Counts a request that began at a time of `time.perf_counter`."""
        self._requests.labels(self._model, api, method, status).inc()
        seconds = time.perf_counter() - begin
        self._seconds.labels(self._model, api, method).observe(seconds)

    def batch(self, rows: int) -> None:
        """Counts a batch of so many sentences."""
        self._rows.observe(rows)

    def follow(self, name: str, what: str, value: Callable[[], float]) -> None:
        """Adds a gauge whose value is asked for when it is read."""
        gauge = self._make(prometheus.Gauge, name, what)
        gauge.labels(self._model).set_function(value)

    def page(self) -> bytes:
        """All, in the text format of Prometheus."""
        return prometheus.generate_latest(self.registry)

    def _make(self, kind, name, what, labels=(), **kwargs):
        labels = ["model_name", *labels]
        return kind(f"elmo_{name}", what, labels, registry=self.registry, **kwargs)
