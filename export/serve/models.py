"""The models behind gRPC and REST, with the queue and the metrics that they share."""

import contextlib
import threading
import time
from collections.abc import Iterator

import grpc
import tensorflow as tf
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusResponse
from tensorflow_serving.apis.model_pb2 import ModelSpec

from .batcher import Batcher
from .config import Config, ModelConfig
from .errors import RequestError, invalid, request_error, without_paths
from .lanes import session_config
from .metrics import Metrics
from .servable import Servable
from .versions import Versions


class Models:
    """Models with a common queue and common metrics.

    Args:
        config: the models and their limits.

    Attributes:
        batcher: the queue.
        metrics: the metrics of all models.

    Raises:
        OSError, ValueError: see `Versions`.
    """

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
        """The versions of a model.

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
        """The version that a request names by number or label, or the newest one.

        It stays loaded as long as the context lasts.

        Raises:
            RequestError: there is no such model or version.
        """
        versions = self[spec.name]
        return versions.lease(_number(versions, spec))

    def status(self, spec: ModelSpec) -> GetModelStatusResponse:
        """The status of all versions, or of the one that a request names.

        Raises:
            RequestError: there is no such model or version.
        """
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
        """Counts a request; each error within the context becomes a `RequestError`.

        Args:
            api: `gRPC` or `REST`.
            method: the method's name.
            model: the name of the model that the request names; `""` is the only one.
        """
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
