"""The services of TensorFlow Serving over gRPC."""

import grpc
from tensorflow_serving.apis import (
    model_service_pb2_grpc,
    prediction_service_pb2_grpc,
)
from tensorflow_serving.apis.get_model_metadata_pb2 import (
    GetModelMetadataResponse,
    SignatureDefMap,
)
from tensorflow_serving.apis.model_pb2 import ModelSpec
from tensorflow_serving.apis.predict_pb2 import PredictResponse

from .batching import Request
from .calls_under_way import CallsUnderWay
from .proto_tensors import decode_inputs, fill
from .request_error import RequestError, invalid
from .servable import DEFAULT_SIGNATURE, Servable
from .served_models import ServedModels

SIGNATURES = "signature_def"
NO_DEADLINE = 1e9  # seconds; gRPC gives a number near 2**63 then


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Predict and GetModelMetadata of models; other methods are UNIMPLEMENTED.

    Args:
        models: the served models.
        calls: counts the calls of Predict that are under way.
        tensor_content: whether answers hold `tensor_content` instead of values.
    """

    def __init__(
        self,
        models: ServedModels,
        calls: CallsUnderWay,
        *,
        tensor_content: bool = False,
    ):
        self._models, self._calls = models, calls
        self._tensor_content = tensor_content

    def Predict(self, request, context):
        name = request.model_spec.name
        with (
            self._calls.counted(context),
            self._models.answering("gRPC", "Predict", _abort(context), model=name),
        ):
            return self._predict(request, context)

    def GetModelMetadata(self, request, context):
        spec = request.model_spec
        with self._models.answering(
            "gRPC", "GetModelMetadata", _abort(context), model=spec.name
        ):
            if set(request.metadata_field) != {SIGNATURES}:
                raise invalid(
                    f"`metadata_field` should be [{SIGNATURES!r}]. Received: "
                    f"{list(request.metadata_field)}"
                )
            with self._models.lease(spec) as servable:
                response = GetModelMetadataResponse()
                response.model_spec.CopyFrom(answered_spec(servable))
                response.metadata[SIGNATURES].Pack(signature_map(servable))
                return response

    def Classify(self, request, context):
        _unimplemented(context, "Classify")

    def Regress(self, request, context):
        _unimplemented(context, "Regress")

    def MultiInference(self, request, context):
        _unimplemented(context, "MultiInference")

    def _predict(self, request, context):
        spec = request.model_spec
        with self._models.lease(spec) as servable:
            signature = servable.signature(spec.signature_name)
            inputs = decode_inputs(request.inputs, signature)
            keys = signature.chosen(request.output_filter)
            waiting = self._models.batcher.submit(
                Request(servable, signature, inputs, keys, _seconds(context))
            )
            # Called when the client hangs up or the deadline passes.
            if not context.add_callback(waiting.cancel):
                waiting.cancel()
            outputs = waiting.result()
            response = PredictResponse(
                model_spec=answered_spec(servable, spec.signature_name)
            )
            for key in keys:
                array = outputs.pop(key)  # the answer takes its place in memory
                fill(response.outputs[key], array, as_content=self._tensor_content)
            return response


class ModelService(model_service_pb2_grpc.ModelServiceServicer):
    """GetModelStatus of models; reloading is UNIMPLEMENTED."""

    def __init__(self, models: ServedModels):
        self._models = models

    def GetModelStatus(self, request, context):
        spec = request.model_spec
        with self._models.answering(
            "gRPC", "GetModelStatus", _abort(context), model=spec.name
        ):
            return self._models.status(spec)

    def HandleReloadConfigRequest(self, request, context):
        _unimplemented(context, "HandleReloadConfigRequest")


def answered_spec(servable: Servable, signature_name: str | None = None) -> ModelSpec:
    """The model and version that answered, with a signature unless it is None."""
    spec = ModelSpec(name=servable.name)
    spec.version.value = servable.version
    if signature_name is not None:
        spec.signature_name = signature_name or DEFAULT_SIGNATURE
    return spec


def signature_map(servable: Servable) -> SignatureDefMap:
    """The signatures of a version."""
    return SignatureDefMap(signature_def=servable.signature_defs)


def _abort(context):
    def abort(error: RequestError):
        context.abort(error.code, str(error))

    return abort


def _seconds(context):
    """How long the client waits for the answer; None if it has no deadline."""
    seconds = context.time_remaining()
    return seconds if seconds < NO_DEADLINE else None


def _unimplemented(context, method):
    context.abort(
        grpc.StatusCode.UNIMPLEMENTED, f"{method} is not implemented. Use Predict."
    )
