"""A plain function over a SavedModel, and the simplest gRPC server around it.

    python plain_server.py VERSION FILE

The function is a `tf.function` of one sentence that calls the signature `default` of
`tf.saved_model.load(VERSION)` and returns `elmo`. The server calls it in a thread for
each request. Says hello with the server's port, and answers requests for `calls` with
the seconds of each call of some threads. FILE holds the sentences.
"""

import concurrent.futures
import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import grpc
import tensorflow as tf
from protocol import answer
from tensorflow_serving.apis import prediction_service_pb2_grpc
from tensorflow_serving.apis.predict_pb2 import PredictResponse

MOST_CLIENTS = 64
STRIDE = 7  # between the first sentences of two clients


def main(version: Path, file: Path) -> None:
    """Answers until standard input ends."""
    sentences = file.read_text("utf-8").splitlines()
    function = plain_function(version)
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(MOST_CLIENTS))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        PlainService(function), server
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    answer(port)
    for line in sys.stdin:
        _, request = json.loads(line)
        calls = [lambda s: function(tf.constant([s])).numpy()] * request["threads"]
        answer(timed_calls(calls, sentences, request["seconds"]))
    server.stop(None)


def plain_function(version: Path) -> Callable[[tf.Tensor], tf.Tensor]:
    """Sentences (1,) → `elmo` (1, tokens, dimensions)."""
    loaded = tf.saved_model.load(version)
    signature = loaded.signatures["default"]

    @tf.function(input_signature=[tf.TensorSpec((1,), tf.string)])
    def elmo(sentences):
        return signature(sentences=sentences)["elmo"]

    elmo.loaded = loaded  # its variables live as long
    return elmo


class PlainService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Predict without batches, checks and versions."""

    def __init__(self, function: Callable[[tf.Tensor], tf.Tensor]):
        self._function = function

    def Predict(self, request, context):
        response = PredictResponse()
        elmo = self._function(tf.constant(request.inputs["sentences"].string_val))
        response.outputs["elmo"].CopyFrom(tf.make_tensor_proto(elmo.numpy()))
        return response


def timed_calls(
    calls: Sequence[Callable[[str], object]], sentences: Sequence[str], seconds: float
) -> list[float]:
    """The seconds of each call, of as many threads as there are calls."""
    times, end = [], time.perf_counter() + seconds

    def work(place, call):
        while (begin := time.perf_counter()) < end:
            call(sentences[place % len(sentences)])
            times.append(time.perf_counter() - begin)
            place += 1

    threads = [
        threading.Thread(target=work, args=(STRIDE * i, call))
        for i, call in enumerate(calls)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
