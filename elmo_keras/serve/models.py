"""The models behind gRPC and REST, with the queue and the metrics that they share."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import grpc
import prometheus_client as prometheus
from tensorflow_serving.apis.get_model_metadata_pb2 import GetModelMetadataResponse  # pyright: ignore[reportAttributeAccessIssue]
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusResponse  # pyright: ignore[reportAttributeAccessIssue]
from tensorflow_serving.apis.model_pb2 import ModelSpec  # pyright: ignore[reportAttributeAccessIssue]

from elmo_keras.serve.batcher import Batcher
from elmo_keras.serve.config import Config, ModelConfig
from elmo_keras.serve.errors import invalid, not_found, request_error, too_much
from elmo_keras.serve.servable import Servable
from elmo_keras.serve.versions import Versions

SIGNATURES = "signature_def"
ONLY_PREDICT = "Only Predict is implemented. Use Predict."
HELD_BODIES = 4  # bodies of the maximum size that are held at the same time
ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
MICROSECONDS = tuple(10 * 1.8**i for i in range(33))  # TensorFlow Serving's buckets


class Models:
    def __init__(self, models: Sequence[ModelConfig], config: Config):
        self._models = {model.name: Versions(model, config) for model in models}
        self._max_held = HELD_BODIES * config.max_message_bytes
        self._lock, self.held = threading.Lock(), 0  # bytes of bodies, unpacked
        self.metrics = Metrics(waiting=lambda: len(self.batcher))
        self.batcher = Batcher(config, self.metrics.rows)
        self._stop = threading.Event()
        self._watchers = [
            threading.Thread(target=versions.watch, args=(self._stop,), daemon=True)
            for versions in self._models.values()
        ]
        for thread in self._watchers:
            thread.start()

    def __getitem__(self, name: str) -> Versions:
        if not name:
            raise invalid(f"`model_spec` should name a model: {sorted(self._models)}.")
        if name not in self._models:
            raise not_found(f"The models are {sorted(self._models)}. Received: {name}")
        return self._models[name]

    def hold(self, n_bytes: int) -> None:
        """Adds a number, which may be negative, to the bytes of bodies in memory."""
        with self._lock:
            if n_bytes > 0 and self.held + n_bytes > self._max_held:
                raise too_much("The server holds large requests. Try again later.")
            self.held += n_bytes

    @contextlib.contextmanager
    def holding(self, n_bytes: int) -> Iterator[None]:
        self.hold(n_bytes)
        try:
            yield
        finally:
            self.hold(-n_bytes)

    def lease(self, spec: ModelSpec) -> contextlib.AbstractContextManager[Servable]:
        """The version of a request; it stays loaded within the context."""
        return self[spec.name].lease(version_of(spec))

    def status(self, spec: ModelSpec) -> GetModelStatusResponse:
        statuses, version = self[spec.name].statuses(), version_of(spec)
        if version is not None:
            if version not in statuses:
                raise not_found(f"The versions are {[*statuses]}. Received: {version}")
            statuses = {version: statuses[version]}
        return GetModelStatusResponse(model_version_status=statuses.values())

    def metadata(self, spec: ModelSpec) -> GetModelMetadataResponse:
        with self.lease(spec) as servable:
            response = GetModelMetadataResponse(model_spec=servable.model_spec())
            response.metadata[SIGNATURES].Pack(servable.signature_map)
        return response

    @contextlib.contextmanager
    def answering(self, api: str, method: str, model: str = "") -> Iterator[None]:
        """Counts a request; each error within the context becomes a `RequestError`."""
        begin, status = time.perf_counter(), grpc.StatusCode.CANCELLED
        try:
            yield
            status = grpc.StatusCode.OK
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
            if method.lower() == "predict":
                self.metrics.requests.labels(model, status.name).inc()
                latency = self.metrics.latency.labels(model, method, api)
                latency.observe(seconds * 1e6)

    def drain(self, grace: float) -> None:
        self._stop.set()
        self.batcher.close(grace)

    def close(self) -> None:
        """Ends what is computed, and all threads."""
        self.drain(0)
        for versions in self._models.values():
            versions.close()
        self.batcher.join()
        for thread in self._watchers:
            thread.join()


def version_of(spec: ModelSpec) -> int | None:
    if spec.version_label:
        raise invalid("Versions are requested by their number, not by a label.")
    return spec.version.value if spec.HasField("version") else None


class Metrics:
    """Metrics of one server: two of its own, and those of TensorFlow Serving."""

    def __init__(self, waiting: Callable[[], float]):
        self._registry = registry = prometheus.CollectorRegistry()
        self.rows = prometheus.Histogram(
            "elmo_batch_rows",
            "Sentences in a batch.",
            ["model_name"],
            buckets=ROWS,
            registry=registry,
        )
        prometheus.Gauge(
            "elmo_waiting_requests", "Requests in the queue.", registry=registry
        ).set_function(waiting)
        self.requests = prometheus.Gauge(  # the name of a Counter ends in `_total`
            ":tensorflow:serving:request_count",
            "The number of requests.",
            ["model_name", "status"],
            registry=registry,
        )
        self.latency = prometheus.Histogram(
            ":tensorflow:serving:request_latency",
            "Time to an answer, in microseconds.",
            ["model_name", "API", "entrypoint"],
            buckets=MICROSECONDS,
            registry=registry,
        )

    def page(self) -> bytes:
        return prometheus.generate_latest(self._registry)
