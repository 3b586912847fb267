"""Metrics of the server, for Prometheus."""

from collections.abc import Callable

import prometheus_client as prometheus

ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
MICROSECONDS = tuple(10 * 1.8**i for i in range(33))  # as in TensorFlow Serving
ENTRY_POINTS = {"gRPC": "GRPC", "REST": "REST"}


class Metrics:
    """Counters of one server, and those of them that TensorFlow Serving has, too."""

    def __init__(self):
        self.registry = prometheus.CollectorRegistry()
        self._requests = self._make(
            prometheus.Counter,
            "elmo_requests",
            "Requests answered or refused, by status.",
            labels=["model_name", "api", "method", "status"],
        )
        self._seconds = self._make(
            prometheus.Histogram,
            "elmo_request_seconds",
            "Time from a request to its answer.",
            labels=["model_name", "api", "method"],
        )
        self._rows = self._make(
            prometheus.Histogram,
            "elmo_batch_rows",
            "Sentences in a batch.",
            labels=["model_name"],
            buckets=ROWS,
        )
        self._count = self._make(
            prometheus.Gauge,  # the name of a Counter would end in `_total`
            ":tensorflow:serving:request_count",
            "The total number of requests.",
            labels=["model_name", "status"],
        )
        self._latency = self._make(
            prometheus.Histogram,
            ":tensorflow:serving:request_latency",
            "Time from a request to its answer, in microseconds.",
            labels=["model_name", "API", "entrypoint"],
            buckets=MICROSECONDS,
        )

    def request(
        self, api: str, method: str, status: str, seconds: float, model: str
    ) -> None:
        """Counts a request over `gRPC` or `REST`, by the name of its gRPC status."""
        self._requests.labels(model, api, method, status).inc()
        self._seconds.labels(model, api, method).observe(seconds)
        if method.lower() == "predict":
            self._count.labels(model, status).inc()
            latency = self._latency.labels(model, method, ENTRY_POINTS[api])
            latency.observe(seconds * 1e6)

    def batch(self, rows: int, model: str) -> None:
        """Counts a batch and its sentences."""
        self._rows.labels(model).observe(rows)

    def follow(self, name: str, description: str, value: Callable[[], float]) -> None:
        """Adds a gauge that calls `value` whenever it is read."""
        self._make(prometheus.Gauge, f"elmo_{name}", description).set_function(value)

    def page(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return prometheus.generate_latest(self.registry)

    def _make(self, kind, name, description, *, labels=(), **kwargs):
        return kind(name, description, labels, registry=self.registry, **kwargs)
