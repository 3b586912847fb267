"""TensorFlow Serving's services and `grpc.health.v1` over gRPC."""

import functools
from concurrent.futures import ThreadPoolExecutor

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from tensorflow_serving.apis.model_service_pb2_grpc import (
    ModelServiceServicer,
    add_ModelServiceServicer_to_server,
)
from tensorflow_serving.apis.predict_pb2 import PredictResponse  # pyright: ignore[reportAttributeAccessIssue]
from tensorflow_serving.apis.prediction_service_pb2_grpc import (
    PredictionServiceServicer,
    add_PredictionServiceServicer_to_server,
)

from elmo_keras.serve.batcher import Request
from elmo_keras.serve.config import Config
from elmo_keras.serve.errors import RequestError, invalid
from elmo_keras.serve.models import ONLY_PREDICT, SIGNATURES, Models
from elmo_keras.serve.servable import DEFAULT_SIGNATURE
from elmo_keras.serve.signature import fill, to_array

NO_DEADLINE = 1e9  # seconds; without one, gRPC gives a number near 2**63
STATUS_THREADS = 8  # further threads, for requests that neither wait nor compute
SENDING_SECONDS = 1.0  # for the last answers and errors
SERVICES = "", "tensorflow.serving.PredictionService", "tensorflow.serving.ModelService"


class GrpcServer:
    """The port of gRPC; `models` answer."""

    def __init__(self, models: Models, config: Config):
        # A request holds a thread while it waits or is computed.
        computed = config.num_batch_threads * config.max_batch_size + 1  # a long one
        threads = config.max_enqueued_requests + computed + STATUS_THREADS
        self._server = grpc.server(
            ThreadPoolExecutor(threads, thread_name_prefix="grpc"),
            maximum_concurrent_rpcs=threads,
            options=[
                ("grpc.max_receive_message_length", config.max_message_bytes),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),  # a taken port is an error
            ],
        )
        prediction = PredictionService(models, as_content=config.tensor_content)
        add_PredictionServiceServicer_to_server(prediction, self._server)
        add_ModelServiceServicer_to_server(ModelService(models), self._server)
        self._health = health.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        for service in SERVICES:
            self._health.set(service, health_pb2.HealthCheckResponse.SERVING)
        host, port = config.host, config.port
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"  # IPv6
        try:
            self.port = self._server.add_insecure_port(address)
        except RuntimeError as error:
            raise OSError(f"Can't listen on --port {port} of {host}.") from error
        self._server.start()

    def leave(self) -> None:
        self._health.enter_graceful_shutdown()

    def close(self) -> None:
        """Returns when all answers are sent."""
        self._server.stop(SENDING_SECONDS).wait()


def answering(method):
    """Bounds messages together and counts requests; their errors become statuses."""

    @functools.wraps(method)
    def answer(self, request, context):
        models, name = self.models, request.model_spec.name
        try:
            with (
                models.holding(request.ByteSize()),
                models.answering("GRPC", method.__name__, name),
            ):
                return method(self, request, context)
        except RequestError as error:
            context.abort(error.code, str(error))

    return answer


def unimplemented(self, request, context):
    context.abort(grpc.StatusCode.UNIMPLEMENTED, ONLY_PREDICT)


class PredictionService(PredictionServiceServicer):
    def __init__(self, models: Models, *, as_content: bool):
        self.models, self._as_content = models, as_content

    @answering
    def Predict(self, request, context):
        name = request.model_spec.signature_name or DEFAULT_SIGNATURE
        left = context.time_remaining()
        with self.models.lease(request.model_spec) as servable:
            signature = servable.signature(name)
            inputs = signature.arrays(request.inputs, to_array)
            keys = signature.keys(request.output_filter)
            seconds = left if left < NO_DEADLINE else None
            query = Request(servable, signature, inputs, keys, seconds)
            future = self.models.batcher.submit(query)
            # Called when the client hangs up or the deadline passes.
            if not context.add_callback(future.cancel):
                future.cancel()
            outputs = future.result()
        response = PredictResponse(model_spec=servable.model_spec(name))
        for key in keys:
            array = outputs.pop(key)  # the answer takes its place in memory
            fill(response.outputs[key], array, as_content=self._as_content)
        return response

    @answering
    def GetModelMetadata(self, request, context):
        if set(request.metadata_field) != {SIGNATURES}:
            raise invalid(
                f"`metadata_field` should be [{SIGNATURES!r}]. Received: "
                f"{list(request.metadata_field)}"
            )
        return self.models.metadata(request.model_spec)

    Classify = Regress = MultiInference = unimplemented


class ModelService(ModelServiceServicer):
    def __init__(self, models: Models):
        self.models = models

    @answering
    def GetModelStatus(self, request, context):
        return self.models.status(request.model_spec)

    HandleReloadConfigRequest = unimplemented
