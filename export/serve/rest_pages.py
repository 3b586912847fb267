"""The status and metadata pages of the REST API."""

from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from tensorflow_serving.apis.model_pb2 import ModelSpec

from .grpc_services import SIGNATURES, answered_spec, signature_map
from .served_models import ServedModels


def status_page(models: ServedModels, spec: ModelSpec) -> dict[str, Any]:
    """The status of all versions, or of the one that a request names.

    Raises:
        RequestError: there is no such model or version.
    """
    return _with_defaults(models.status(spec))


def metadata_page(models: ServedModels, spec: ModelSpec) -> dict[str, Any]:
    """The signatures of a version.

    Raises:
        RequestError: there is no such model or version.
    """
    with models.lease(spec) as servable:
        answered = answered_spec(servable)
        signatures = signature_map(servable)
    return {
        "model_spec": _with_defaults(answered),
        "metadata": {SIGNATURES: _with_defaults(signatures)},
    }


def _with_defaults(message: Message):
    return MessageToDict(
        message,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
    )
