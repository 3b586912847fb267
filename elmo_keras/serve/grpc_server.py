"""TensorFlow Serving's services and `grpc.health.v1` over gRPC."""

import functools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
from google.protobuf.message import DecodeError
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
from elmo_keras.serve.config import MEGABYTE, Config
from elmo_keras.serve.errors import RequestError, invalid
from elmo_keras.serve.models import ONLY_PREDICT, SIGNATURES, Models, model_spec
from elmo_keras.serve.servable import DEFAULT_SIGNATURE
from elmo_keras.serve.signature import decode, fill

NO_DEADLINE = 1e9  # seconds; gRPC gives a number near 2**63 then
STATUS_THREADS = 8  # in addition to those of requests that wait or are computed
SENDING_SECONDS = 1.0  # for errors, after the last answer that the grace allows
SERVICES = "", "tensorflow.serving.PredictionService", "tensorflow.serving.ModelService"


def unimplemented(self, request, context):
    raise RequestError(grpc.StatusCode.UNIMPLEMENTED, ONLY_PREDICT)


class GrpcServer(
    PredictionServiceServicer, ModelServiceServicer, grpc.ServerInterceptor
):
    def __init__(
        self,
        models: Models,
        config: Config,
        credentials: grpc.ServerCredentials | None,
    ):
        self.models, self._tensor_content = models, config.tensor_content
        self._changed, self._in_flight = threading.Condition(), 0
        # A request holds a thread while it waits or is computed.
        computed = config.num_batch_threads * config.max_batch_size + 1  # a long one
        threads = config.max_enqueued_requests + computed + STATUS_THREADS
        self._server = grpc.server(
            ThreadPoolExecutor(threads, thread_name_prefix="grpc"),
            interceptors=[self],
            maximum_concurrent_rpcs=threads,
            options=[
                ("grpc.max_receive_message_length", config.max_message_mb * MEGABYTE),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),  # a taken port is an error
            ],
        )
        add_PredictionServiceServicer_to_server(self, self._server)
        add_ModelServiceServicer_to_server(self, self._server)
        self._health = health.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        for service in SERVICES:
            self._health.set(service, health_pb2.HealthCheckResponse.SERVING)
        host, port = config.host, config.port
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"  # IPv6
        try:
            if credentials is None:
                self.port = self._server.add_insecure_port(address)
            else:
                self.port = self._server.add_secure_port(address, credentials)
        except RuntimeError as error:
            raise OSError(f"Can't listen on --port {port} of {host}.") from error
        self._server.start()

    def intercept_service(self, continuation, handler_call_details):
        """Bounds all messages together; gRPC says how large one is when it is there."""
        handler = continuation(handler_call_details)
        if handler is None or handler.unary_unary is None:
            return handler
        method = handler_call_details.method.rpartition("/")[2]
        return grpc.unary_unary_rpc_method_handler(
            functools.partial(self._answer, handler, method),
            response_serializer=handler.response_serializer,
        )

    def _answer(self, handler, method, body, context):
        """Counts a request; its errors become a status."""
        try:
            self.models.hold(len(body))
            try:
                request = handler.request_deserializer(body)
                name = getattr(getattr(request, "model_spec", None), "name", "")
                with self.models.answering("GRPC", method, name):
                    return handler.unary_unary(request, context)
            finally:
                self.models.hold(-len(body))
        except RequestError as error:
            context.abort(error.code, str(error))
        except DecodeError:
            message = "Exception deserializing request!"  # as gRPC says it
            context.abort(grpc.StatusCode.INTERNAL, message)

    def Predict(self, request, context):
        self._count(1)
        # gRPC calls it after the answer is sent, and when the client hangs up.
        if not context.add_callback(lambda: self._count(-1)):
            self._count(-1)
        name = request.model_spec.signature_name or DEFAULT_SIGNATURE

        def read(servable):
            signature = servable.signature(name)
            inputs = signature.arrays(request.inputs, decode)
            keys = signature.keys(request.output_filter)
            left = context.time_remaining()
            seconds = left if left < NO_DEADLINE else None
            return Request(servable, signature, inputs, keys, seconds)

        waiting = self.models.submit(request.model_spec, read)
        # Called when the client hangs up or the deadline passes.
        if not context.add_callback(waiting.future.cancel):
            waiting.future.cancel()
        outputs = waiting.future.result()
        response = PredictResponse(model_spec=model_spec(waiting.servable, name))
        for key in waiting.keys:
            array = outputs.pop(key)  # the answer takes its place in memory
            fill(response.outputs[key], array, as_content=self._tensor_content)
        return response

    def GetModelMetadata(self, request, context):
        if set(request.metadata_field) != {SIGNATURES}:
            raise invalid(
                f"`metadata_field` should be [{SIGNATURES!r}]. Received: "
                f"{list(request.metadata_field)}"
            )
        return self.models.metadata(request.model_spec)

    def GetModelStatus(self, request, context):
        return self.models.status(request.model_spec)

    Classify = Regress = MultiInference = HandleReloadConfigRequest = unimplemented

    def leave(self) -> None:
        self._health.enter_graceful_shutdown()

    def wait(self, end: float) -> None:
        """Waits until all answers are sent."""
        seconds = max(end - time.monotonic(), SENDING_SECONDS)
        with self._changed:
            self._changed.wait_for(lambda: not self._in_flight, seconds)

    def _count(self, change):
        with self._changed:
            self._in_flight += change
            self._changed.notify_all()

    def close(self) -> None:
        self._server.stop(0).wait()
