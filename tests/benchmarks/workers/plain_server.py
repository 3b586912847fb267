"""A plain function over a SavedModel, and the simplest gRPC server around it.

    python plain_server.py VERSION FILE

The function of one sentence calls the signature `default` and returns `elmo`. Says hello
with the server's port, and answers requests for `calls` with the seconds of each call of
some threads. FILE holds the sentences.
"""

import concurrent.futures
import itertools
import sys
import threading
import time
from pathlib import Path

import grpc
import tensorflow as tf
from protocol import answer_requests, read
from tensorflow_serving.apis import prediction_service_pb2_grpc
from tensorflow_serving.apis.predict_pb2 import PredictResponse

MOST_CLIENTS = 64
STRIDE = 7  # between the first sentences of two clients


class PlainService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Predict without batches, checks and versions."""

    def __init__(self, version: Path):
        self._loaded = tf.saved_model.load(version)  # its variables live as long
        signature = self._loaded.signatures["default"]
        self.function = tf.function(
            lambda sentences: signature(sentences=sentences)["elmo"],
            input_signature=[tf.TensorSpec((1,), tf.string)],
        )

    def Predict(self, request, context):
        response = PredictResponse()
        elmo = self.function(tf.constant(request.inputs["sentences"].string_val))
        response.outputs["elmo"].CopyFrom(tf.make_tensor_proto(elmo.numpy()))
        return response


def main(version: Path, file: Path) -> None:
    sentences = [" ".join(tokens) for tokens in read(file)]
    service = PlainService(version)
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(MOST_CLIENTS))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()

    def calls(threads: int, seconds: float) -> list[float]:
        times, end = [], time.perf_counter() + seconds

        def work(place):
            for sentence in itertools.islice(itertools.cycle(sentences), place, None):
                if (begin := time.perf_counter()) >= end:
                    return
                service.function(tf.constant([sentence])).numpy()
                times.append(time.perf_counter() - begin)

        running = [
            threading.Thread(target=work, args=(STRIDE * i,)) for i in range(threads)
        ]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        return times

    answer_requests(port, {"calls": calls})
    server.stop(None)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
