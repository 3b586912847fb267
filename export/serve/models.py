"""The models behind gRPC and REST, with the queue and the metrics that they share."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import grpc
import prometheus_client as prometheus
import tensorflow as tf
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusResponse
from tensorflow_serving.apis.model_pb2 import ModelSpec

from .batcher import Batcher
from .config import Config, ModelConfig
from .errors import RequestError, invalid, request_error, without_paths
from .lanes import session_config
from .servable import Servable
from .versions import Versions

ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
MICROSECONDS = tuple(10 * 1.8**i for i in range(33))  # as in TensorFlow Serving
ENTRY_POINTS = {"gRPC": "GRPC", "REST": "REST"}


class Models:
    """Models with a common queue and common metrics."""

    def __init__(self, config: Config):
        session = session_config(config.threads, config.num_batch_threads)
        self._models = {m.name: _versions(m, session) for m in config.models}
        self.metrics = Metrics()
        self.batcher = Batcher(config, self.metrics.batch)
        self.metrics.follow(
            "waiting_requests", "Requests in the queue.", lambda: len(self.batcher)
        )
        self._stop = threading.Event()
        for name, versions in self._models.items():
            threading.Thread(
                target=versions.watch,
                args=(config.poll_seconds, self._stop),
                name=f"versions of {name}",
                daemon=True,
            ).start()

    def __getitem__(self, name: str) -> Versions:
        """The versions of a model."""
        if not name:
            raise invalid(f"`model_spec` should name a model: {sorted(self._models)}.")
        if name not in self._models:
            raise RequestError(
                grpc.StatusCode.NOT_FOUND,
                f"The models are {sorted(self._models)}. Received: {name!r}",
            )
        return self._models[name]

    def lease(self, spec: ModelSpec) -> contextlib.AbstractContextManager[Servable]:
        """The version that a request names by number or label, or the newest one.

        It stays loaded as long as the context lasts.
        """
        versions = self[spec.name]
        return versions.lease(_number(versions, spec))

    def status(self, spec: ModelSpec) -> GetModelStatusResponse:
        """The status of all versions, or of the one that a request names."""
        versions = self[spec.name]
        found, number = versions.statuses(), _number(versions, spec)
        if number is not None:
            if number not in found:
                raise RequestError(
                    grpc.StatusCode.NOT_FOUND,
                    f"The versions are {list(found)}. Received: {number}",
                )
            found = {number: found[number]}
        response = GetModelStatusResponse()
        for version, status in found.items():
            entry = response.model_version_status.add(version=version)
            entry.state = status.state
            entry.status.error_code = 2 if status.error else 0  # UNKNOWN or OK
            entry.status.error_message = without_paths(status.error)
        return response

    @contextlib.contextmanager
    def answering(self, api: str, method: str, model: str = "") -> Iterator[None]:
        """Counts a request; each error within the context becomes a `RequestError`."""
        begin, status = time.perf_counter(), grpc.StatusCode.OK
        try:
            yield
        except Exception as error:
            refused = request_error(error)
            status = refused.code
            raise refused from None
        finally:
            if len(self._models) == 1:
                (model,) = self._models
            elif model not in self._models:
                model = ""  # any text that clients send would fill the memory
            seconds = time.perf_counter() - begin
            self.metrics.request(api, method, status.name, seconds, model)

    def drain(self, grace: float | None = None) -> None:
        """Refuses new requests, and answers waiting ones for up to `grace` seconds."""
        self._stop.set()
        self.batcher.close(grace)

    def close(self, grace: float | None = None) -> None:
        """Drains the queue, and frees the models."""
        self.drain(grace)
        for versions in self._models.values():
            versions.close()


def _versions(model: ModelConfig, session: tf.compat.v1.ConfigProto) -> Versions:
    def load(path):
        servable = Servable(path, model.name, session)
        try:
            servable.warm_up()
        except BaseException:
            servable.close()
            raise
        return servable

    return Versions(model.directory, load, model.policy, labels=model.labels)


def _number(versions, spec):
    """The number of the version that a request names, or None."""
    if spec.HasField("version"):
        return spec.version.value
    return versions.of_label(spec.version_label) if spec.version_label else None


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
