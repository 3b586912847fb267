"""A model: its versions, and the one that a request names."""

import contextlib
from collections.abc import Iterator

import grpc
import tensorflow as tf
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusResponse
from tensorflow_serving.apis.model_pb2 import ModelSpec

from .model_config import ModelConfig
from .request_error import RequestError, without_paths
from .servable import Servable
from .versions import Versions


class ServedModel:
    """A model with its versions.

    Args:
        model: its name, directory, policy and labels.
        config: the configuration of its sessions, see `lanes.session_config`.

    Attributes:
        name: its name in requests.
        versions: its `Versions`.

    Raises:
        OSError, ValueError: see `Versions`.
    """

    def __init__(self, model: ModelConfig, config: tf.compat.v1.ConfigProto):
        self.name = model.name

        def load(path):
            return _warm(Servable(path, model.name, config))

        self.versions = Versions(
            model.directory, load, model.policy, labels=model.labels
        )

    @contextlib.contextmanager
    def lease(self, spec: ModelSpec) -> Iterator[Servable]:
        """The version that a request names by number or label, or the newest one.

        Raises:
            RequestError: there is no such version.
        """
        with self.versions.lease(self._number(spec)) as servable:
            yield servable

    def status(self, spec: ModelSpec) -> GetModelStatusResponse:
        """The status of all versions, or of the one that a request names.

        Raises:
            RequestError: there is no such version.
        """
        found, number = self.versions.statuses(), self._number(spec)
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

    def _number(self, spec):
        if spec.HasField("version"):
            return spec.version.value
        if spec.version_label:
            return self.versions.of_label(spec.version_label)
        return None


def _warm(servable):
    try:
        servable.warm_up()
    except BaseException:
        servable.close()
        raise
    return servable
