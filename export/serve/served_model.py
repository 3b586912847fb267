"""The model behind gRPC and REST: its versions, queue and metrics."""

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import grpc
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusResponse
from tensorflow_serving.apis.model_pb2 import ModelSpec

from .batching import Batcher, BatchingOptions
from .request_error import RequestError, invalid, unexpected, without_paths
from .servable import Servable
from .server_metrics import Metrics
from .versions import Versions


@dataclasses.dataclass(frozen=True)
class ModelOptions:
    """A model to serve.

    Args:
        directory: the folder of its versions.
        name: its name in requests.
        threads: threads of TensorFlow's operations; None for one per processor.
        poll_seconds: time between checks for a newer version.
        batching: limits of batches and queue.
    """

    directory: Path
    name: str = "elmo"
    threads: int | None = None
    poll_seconds: float = 2.0
    batching: BatchingOptions = BatchingOptions()


class ServedModel:
    """A model with its versions, queue and metrics.

    Args:
        options: the model and its limits.

    Raises:
        OSError, ValueError: see `Versions`.
    """

    def __init__(self, options: ModelOptions):
        self.name = options.name
        self.metrics = Metrics(options.name)
        self.versions = Versions(
            options.directory, lambda path: _warm(path, options.threads)
        )
        self.batcher = Batcher(options.batching, self.metrics.batch)
        self.metrics.follow(
            "waiting_requests", "Requests in the queue.", lambda: len(self.batcher)
        )
        self._stop = threading.Event()
        self._watcher = threading.Thread(
            target=self.versions.watch,
            args=(options.poll_seconds, self._stop),
            name="versions",
            daemon=True,
        )
        self._watcher.start()

    @contextlib.contextmanager
    def lease(self, spec: ModelSpec) -> Iterator[Servable]:
        """The version that a request names.

        Raises:
            RequestError: there is no such model or version.
        """
        self.check_spec(spec)
        version = spec.version.value if spec.HasField("version") else None
        with self.versions.lease(version) as servable:
            yield servable

    def check_spec(self, spec: ModelSpec) -> None:
        """Refuses the name of another model, and version labels.

        Raises:
            RequestError: the name differs, or a label is given.
        """
        if not spec.name:
            raise invalid(f"`model_spec` should name the model {self.name!r}.")
        if spec.name != self.name:
            raise RequestError(
                grpc.StatusCode.NOT_FOUND,
                f"The model is {self.name!r}. Received: {spec.name!r}",
            )
        if spec.version_label:
            raise invalid(
                "Versions have no labels on this server. Give a number, or leave it "
                f"out. Received: {spec.version_label!r}"
            )

    def status(self, spec: ModelSpec) -> GetModelStatusResponse:
        """The status of all versions, or of the one that a request names.

        Raises:
            RequestError: there is no such model or version.
        """
        self.check_spec(spec)
        found = self.versions.statuses()
        if spec.HasField("version"):
            if spec.version.value not in found:
                raise RequestError(
                    grpc.StatusCode.NOT_FOUND,
                    f"The versions are {list(found)}. Received: {spec.version.value}",
                )
            found = {spec.version.value: found[spec.version.value]}
        response = GetModelStatusResponse()
        for version, status in found.items():
            entry = response.model_version_status.add(version=version)
            entry.state = status.state
            entry.status.error_code = 2 if status.error else 0  # UNKNOWN or OK
            entry.status.error_message = without_paths(status.error)
        return response

    @contextlib.contextmanager
    def answering(
        self, api: str, method: str, refuse: Callable[[RequestError], None]
    ) -> Iterator[None]:
        """Counts a request; calls `refuse` with a `RequestError` if it fails."""
        begin, status = time.perf_counter(), grpc.StatusCode.OK
        try:
            yield
        except Exception as error:
            refused = _request_error(error)
            status = refused.code
            refuse(refused)
        finally:
            self.metrics.request(api, method, status.name, begin=begin)

    def close(self, grace: float | None = None) -> None:
        """Refuses new requests, and answers waiting ones for up to `grace` seconds."""
        self._stop.set()
        self.batcher.close(grace)


def _request_error(error):
    if isinstance(error, RequestError):
        return error
    if isinstance(error, CancelledError):
        return RequestError(grpc.StatusCode.CANCELLED, "The client has disconnected.")
    return unexpected(error)


def _warm(path, threads):
    servable = Servable(path, threads)
    try:
        servable.warm_up()
    except BaseException:
        servable.close()
        raise
    return servable
