"""The models behind gRPC and REST, with the queue and the metrics that they share."""

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError

import grpc
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusResponse
from tensorflow_serving.apis.model_pb2 import ModelSpec

from .batching import Batcher, BatchingOptions
from .lanes import session_config
from .model_config import ModelConfig
from .request_error import RequestError, invalid, unexpected
from .request_size import SizeLimits
from .servable import Servable
from .served_model import ServedModel
from .server_metrics import Metrics


@dataclasses.dataclass(frozen=True)
class ModelsOptions:
    """The models to serve, and their limits.

    Args:
        models: the models.
        threads: threads within TensorFlow's operations; None for one per processor.
        poll_seconds: time between checks for newer versions.
        batching: limits of batches and queue.
        limits: limits of a request.
    """

    models: Sequence[ModelConfig]
    threads: int | None = None
    poll_seconds: float = 2.0
    batching: BatchingOptions = BatchingOptions()
    limits: SizeLimits = SizeLimits()


class ServedModels:
    """Models with a common queue and common metrics.

    Args:
        options: the models and their limits.

    Attributes:
        batcher: the queue.
        metrics: the metrics of all models.

    Raises:
        OSError, ValueError: see `Versions`.
    """

    def __init__(self, options: ModelsOptions):
        config = session_config(options.threads, options.batching.num_batch_threads)
        self._models = {m.name: ServedModel(m, config) for m in options.models}
        self.metrics = Metrics()
        self.batcher = Batcher(options.batching, options.limits, self.metrics.batch)
        self.metrics.follow(
            "waiting_requests", "Requests in the queue.", lambda: len(self.batcher)
        )
        self._stop = threading.Event()
        for model in self._models.values():
            threading.Thread(
                target=model.versions.watch,
                args=(options.poll_seconds, self._stop),
                name=f"versions of {model.name}",
                daemon=True,
            ).start()

    def __getitem__(self, name: str) -> ServedModel:
        """A model by its name.

        Raises:
            RequestError: there is no such model.
        """
        if not name:
            raise invalid(f"`model_spec` should name a model: {sorted(self._models)}.")
        if name not in self._models:
            raise RequestError(
                grpc.StatusCode.NOT_FOUND,
                f"The models are {sorted(self._models)}. Received: {name!r}",
            )
        return self._models[name]

    def lease(self, spec: ModelSpec) -> contextlib.AbstractContextManager[Servable]:
        """The version that a request names, loaded as long as the context lasts.

        Raises:
            RequestError: there is no such model or version.
        """
        return self[spec.name].lease(spec)

    def status(self, spec: ModelSpec) -> GetModelStatusResponse:
        """The status of the versions that a request names.

        Raises:
            RequestError: there is no such model or version.
        """
        return self[spec.name].status(spec)

    @contextlib.contextmanager
    def answering(
        self,
        api: str,
        method: str,
        refuse: Callable[[RequestError], None],
        *,
        model: str = "",
    ) -> Iterator[None]:
        """Counts a request; calls `refuse` with a `RequestError` if it fails.

        Args:
            api: `gRPC` or `REST`.
            method: the method's name.
            refuse: sends the error.
            model: the name of the model that the request names; `""` is the only one.
        """
        begin, status = time.perf_counter(), grpc.StatusCode.OK
        try:
            yield
        except Exception as error:
            refused = _request_error(error)
            status = refused.code
            refuse(refused)
        finally:
            self.metrics.request(
                api, method, status.name, begin=begin, model=self._counted(model)
            )

    def _counted(self, name):
        """The label of metrics: any text that clients send would fill the memory."""
        if len(self._models) == 1:
            (name,) = self._models
        return name if name in self._models else ""

    def drain(self, grace: float | None = None) -> None:
        """Refuses new requests, and answers waiting ones for up to `grace` seconds."""
        self._stop.set()
        self.batcher.close(grace)

    def close(self, grace: float | None = None) -> None:
        """Drains the queue, and frees the models."""
        self.drain(grace)
        for model in self._models.values():
            model.versions.close()


def _request_error(error):
    if isinstance(error, RequestError):
        return error
    if isinstance(error, CancelledError):
        return RequestError(grpc.StatusCode.CANCELLED, "The client has disconnected.")
    return unexpected(error)
