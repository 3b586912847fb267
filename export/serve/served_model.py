"""A model that is served: what gRPC and REST have in common."""

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import grpc
from tensorflow_serving.apis.get_model_status_pb2 import (
    GetModelStatusResponse,
    ModelVersionStatus,
)
from tensorflow_serving.apis.model_pb2 import ModelSpec

from export.server.batching import Batcher, BatchingOptions
from export.server.errors import RequestError, invalid
from export.server.metrics import Metrics
from export.server.servable import Servable
from export.server.versions import Versions


@dataclasses.dataclass(frozen=True)
class ModelOptions:
    """What is served, and how.

    Args:
        directory: of the versions.
        name: that requests ask for.
        threads: of TensorFlow's operations; None for one a processor.
        poll_seconds: between two looks for a new version.
        batching: see there.
    """

    directory: Path
    name: str = "elmo"
    threads: int | None = None
    poll_seconds: float = 2.0
    batching: BatchingOptions = BatchingOptions()


class Model:
    """A model with its versions, queue and metrics.

    Args:
        options: see there.

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
        """The version that a request asks for.

        Raises:
            RequestError: there is no such model or version.
        """
        self.check_spec(spec)
        version = spec.version.value if spec.HasField("version") else None
        with self.versions.lease(version) as servable:
            yield servable

    def check_spec(self, spec: ModelSpec) -> None:
        """Refuses another model's name, and labels.

        Raises:
            RequestError: there is no such model, or it has no labels.
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
                "The versions have no labels here. Ask by number, or for none. "
                f"Received: {spec.version_label!r}"
            )

    def status(self, spec: ModelSpec) -> GetModelStatusResponse:
        """What became of the versions.

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
            told = ModelVersionStatus(version=version, state=status.state)
            told.status.error_code = 2 if status.error else 0  # UNKNOWN or OK
            told.status.error_message = status.error
            response.model_version_status.append(told)
        return response

    @contextlib.contextmanager
    def answering(
        self, api: str, method: str, refuse: Callable[[RequestError], None]
    ) -> Iterator[None]:
        """Counts a request; what goes wrong is handed over as a `RequestError`."""
        begin, status = time.perf_counter(), grpc.StatusCode.OK
        try:
            yield
        except Exception as error:
            told = _request_error(error)
            status = told.code
            refuse(told)
        finally:
            self.metrics.request(api, method, status.name, begin)

    def close(self, grace: float | None = None) -> None:
        """Takes no more requests; answers what waits, for at most so many seconds."""
        self._stop.set()
        self.batcher.close(grace)


def _request_error(error):
    if isinstance(error, RequestError):
        return error
    if isinstance(error, CancelledError):
        return RequestError(grpc.StatusCode.CANCELLED, "The client is gone.")
    return RequestError(grpc.StatusCode.INTERNAL, f"{type(error).__name__}: {error}")


def _warm(path, threads):
    servable = Servable(path, threads)
    try:
        servable.warm_up()
    except BaseException:
        servable.close()
        raise
    return servable
