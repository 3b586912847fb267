"""The services of TensorFlow Serving over gRPC."""

import grpc
import tensorflow as tf
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
from .proto_tensors import decode_inputs
from .request_error import RequestError, invalid
from .servable import DEFAULT_SIGNATURE, Servable
from .served_model import ServedModel

SIGNATURES = "signature_def"


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Predict and GetModelMetadata of a model; other methods are UNIMPLEMENTED."""

    def __init__(self, model: ServedModel):
        self._model = model

    def Predict(self, request, context):
        with self._model.answering("gRPC", "Predict", _abort(context)):
            return self._predict(request, context)

    def GetModelMetadata(self, request, context):
        with self._model.answering("gRPC", "GetModelMetadata", _abort(context)):
            if set(request.metadata_field) != {SIGNATURES}:
                raise invalid(
                    f"`metadata_field` should be [{SIGNATURES!r}]. Received: "
                    f"{list(request.metadata_field)}"
                )
            with self._model.lease(request.model_spec) as servable:
                response = GetModelMetadataResponse()
                response.model_spec.CopyFrom(answered_spec(self._model, servable))
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
        with self._model.lease(spec) as servable:
            signature = servable.signature(spec.signature_name)
            inputs = decode_inputs(request.inputs, signature)
            keys = signature.chosen(request.output_filter)
            waiting = self._model.batcher.submit(
                Request(servable, signature, inputs, keys)
            )
            # Called when the client hangs up or the deadline passes.
            if not context.add_callback(waiting.cancel):
                waiting.cancel()
            outputs = waiting.result()
            response = PredictResponse(
                model_spec=answered_spec(self._model, servable, spec.signature_name)
            )
            for key, array in outputs.items():
                response.outputs[key].CopyFrom(tf.make_tensor_proto(array))
            return response


class ModelService(model_service_pb2_grpc.ModelServiceServicer):
    """GetModelStatus of a model; reloading is UNIMPLEMENTED."""

    def __init__(self, model: ServedModel):
        self._model = model

    def GetModelStatus(self, request, context):
        with self._model.answering("gRPC", "GetModelStatus", _abort(context)):
            return self._model.status(request.model_spec)

    def HandleReloadConfigRequest(self, request, context):
        _unimplemented(context, "HandleReloadConfigRequest")


def answered_spec(
    model: ServedModel, servable: Servable, signature_name: str | None = None
) -> ModelSpec:
    """The version that answered, with its signature unless the name is None."""
    spec = ModelSpec(name=model.name)
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


def _unimplemented(context, method):
    context.abort(
        grpc.StatusCode.UNIMPLEMENTED, f"{method} is not implemented. Use Predict."
    )
