"""Vectors of sentences from a server: the embedded one or TensorFlow Serving."""

import concurrent.futures
import contextlib
import functools
import random
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import grpc
import numpy as np
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow_serving.apis.predict_pb2 import PredictRequest
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

from elmo_keras.text.files import whole_file
from elmo_keras.text.length_batches import in_order, length_batches, padded_arrays
from elmo_keras.text.sentences import Sentence, tokens_of_sentences

RETRIED = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
)
FIRST_PAUSE, MAX_PAUSE = 0.1, 10.0  # seconds before another attempt
SORTED_BATCHES = 16  # how many batches of sentences are sorted by length together
UNLIMITED = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
]


def embed_text(
    sentences: str | Iterable[Sentence],
    server: str = "localhost:8500",
    *,
    model: str = "elmo",
    output: str = "elmo",
    batch_tokens: int = 2048,
    batch_size: int = 32,
    timeout: float = 60.0,
    retries: int = 5,
    in_flight: int = 4,
    credentials: grpc.ChannelCredentials | None = None,
    progress: Callable[[int], None] = lambda n: None,
) -> Iterator[np.ndarray]:
    """The vectors of each sentence, in the order of the sentences.

    A request holds sentences of similar length. gRPC's own retries end with the
    deadline of the first attempt or after five attempts, so they are not used here.

    Args:
        sentences: each a `str` or a list of tokens, as in `Embedder.encode`.
        server: host and port of gRPC.
        model: its name on the server.
        output: key of the signature `tokens`, such as `elmo`, `layers`, `default`.
        batch_tokens: maximum number of tokens in a request, including padding,
            unless a single sentence has more.
        batch_size: maximum number of sentences in a request.
        timeout: seconds to wait for an answer.
        retries: number of further attempts while the server is busy.
        in_flight: number of concurrent requests.
        credentials: of TLS, see `grpc.ssl_channel_credentials`; None for a server
            without it.
        progress: called with the number of sentences after each answer.

    Yields:
        float arrays: `(tokens, 2 · projection)` for `elmo`, `(layers, tokens,
        2 · projection)` for `layers`, `(2 · projection,)` for `default`.

    Raises:
        ValueError: the output has no vector for a sentence, or the server is an address
            of HTTP.
        grpc.RpcError: the server refuses a request, or can't be reached.
    """
    if "://" in server:
        raise ValueError(
            "A server should be HOST:PORT of gRPC, such as localhost:8500. Received: "
            f"{server}"
        )
    with contextlib.ExitStack() as stack:
        if credentials is None:
            channel = grpc.insecure_channel(server, UNLIMITED)
        else:
            channel = grpc.secure_channel(server, credentials, UNLIMITED)
        stack.enter_context(channel)
        predict = PredictionServiceStub(channel).Predict
        pool = concurrent.futures.ThreadPoolExecutor(in_flight)
        stack.callback(pool.shutdown, cancel_futures=True)

        def vectors_of(batch):
            request = _request(batch, model, output)
            response = _retried(lambda: predict(request, timeout=timeout), retries)
            rows = zip(batch, array_of(response.outputs[output]))
            return [_unpadded(row, len(sentence), output) for sentence, row in rows]

        def results(batches):
            for vectors in pool.map(vectors_of, batches):
                progress(len(vectors))
                yield vectors

        yield from in_order(
            tokens_of_sentences(sentences),
            results,
            batches_of=functools.partial(
                length_batches, max_tokens=batch_tokens, max_sentences=batch_size
            ),
            tokens_at_once=batch_tokens * SORTED_BATCHES,
        )


def _request(sentences, model, output):
    lengths = [len(sentence) for sentence in sentences]
    rows = [np.array(sentence, object) for sentence in sentences]
    tokens = padded_arrays(rows, b"")
    request = PredictRequest(output_filter=[output])
    request.model_spec.name = model
    request.model_spec.signature_name = "tokens"
    request.inputs["tokens"].CopyFrom(tf.make_tensor_proto(tokens, tf.string))
    request.inputs["sequence_len"].CopyFrom(tf.make_tensor_proto(lengths, tf.int32))
    return request


def _retried(call, retries):
    """Calls until the server answers, with a longer pause after each refusal."""
    pause = FIRST_PAUSE
    for left in range(retries, -1, -1):
        try:
            return call()
        except grpc.RpcError as error:
            if error.code() not in RETRIED or not left:
                raise
        # Random, so that clients refused together don't return together.
        time.sleep(pause * random.uniform(0.5, 1.5))
        pause = min(2 * pause, MAX_PAUSE)


def _unpadded(row, length, output):
    if row.ndim == 0:
        raise ValueError(f"{output!r} has no vectors. Request another output.")
    if row.ndim == 1:
        return row
    return row[..., :length, :]


def array_of(proto: TensorProto) -> np.ndarray:
    """As `tf.make_ndarray`, but without a Python object of each number in `float_val`."""
    if proto.dtype == tf.float32.as_datatype_enum and len(proto.float_val) > 1:
        shape = [dim.size for dim in proto.tensor_shape.dim]
        return np.array(proto.float_val, np.float32).reshape(shape)
    return tf.make_ndarray(proto)


def read_credentials(
    root_certificates: Path | None = None,
    client_key: Path | None = None,
    client_certificate: Path | None = None,
) -> grpc.ChannelCredentials | None:
    if (client_key is None) != (client_certificate is None):
        raise ValueError(
            "--client-key and --client-certificate belong together. Received one of them."
        )
    paths = root_certificates, client_key, client_certificate
    if not any(paths):
        return None
    return grpc.ssl_channel_credentials(*(path and _read_pem(path) for path in paths))


def _read_pem(path):
    content = whole_file(path, 2**20)
    if b"-----BEGIN" not in content:
        raise ValueError(f"{path} should hold PEM, with a line -----BEGIN …-----.")
    return content
