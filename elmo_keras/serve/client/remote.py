"""Vectors of sentences from a server: the embedded one or TensorFlow Serving."""

import functools
import itertools
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow_serving.apis.predict_pb2 import PredictRequest, PredictResponse  # pyright: ignore[reportAttributeAccessIssue]
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

from elmo_keras.base.files import replacing
from elmo_keras.base.progress import Progress
from elmo_keras.embed.outputs import is_npy
from elmo_keras.embed.writers.hdf5 import write_hdf5
from elmo_keras.embed.writers.npy import write_npy
from elmo_keras.text.length_batches import (
    length_batches,
    padded_arrays,
    stream_batches,
)
from elmo_keras.text.sentences import Sentence, tokens_of_sentences
from elmo_keras.text.tokenizers import Tokenizer

RETRIED = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
)
ATTEMPTS = 6
FIRST_PAUSE, MAX_PAUSE = 0.1, 10.0  # seconds before another attempt
BATCH_TOKENS, BATCH_SENTENCES = 2048, 32  # maximum of a request, with padding
REQUESTS_IN_FLIGHT = 4
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
    tokenizer: str | Tokenizer = "spaces",
    timeout: float = 60.0,
    credentials: grpc.ChannelCredentials | None = None,
    progress: bool = False,
) -> Iterator[np.ndarray]:
    """The vectors of each sentence, in the order of the sentences.

    A request holds sentences of similar length, and is repeated while the server is busy.

    Args:
        sentences: each a `str` or a list of tokens.
        server: host and port of gRPC.
        model: its name on the server.
        output: key of the signature `tokens`, such as `elmo`, `layers`, `default`.
        tokenizer: how a `str` is split: at `"spaces"`, into `"words"`, or by a function.
        timeout: seconds to wait for an answer.
        credentials: of TLS, see `grpc.ssl_channel_credentials`; None for a server
            without it.
        progress: whether to show progress on standard error.

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
    if credentials is None:
        channel = grpc.insecure_channel(server, UNLIMITED)
    else:
        channel = grpc.secure_channel(server, credentials, UNLIMITED)
    total = len(sentences) if isinstance(sentences, Sized) else None
    bar = Progress(total=total, unit=" sentences", disable=not progress)
    with channel, bar, ThreadPoolExecutor(REQUESTS_IN_FLIGHT) as pool:
        predict = PredictionServiceStub(channel).Predict

        def embed_batch(batch):
            request = to_request(batch, model, output)
            response = retry(lambda: predict(request, timeout=timeout))
            rows = zip(batch, to_array(response.outputs[output]))
            return [unpad(row, len(sentence), output) for sentence, row in rows]

        def embed_batches(batches):
            for vectors in pool.map(embed_batch, batches):
                bar.update(len(vectors))
                yield vectors

        yield from stream_batches(
            embed_batches,
            tokens_of_sentences(sentences, tokenizer),
            functools.partial(
                length_batches, max_tokens=BATCH_TOKENS, max_sentences=BATCH_SENTENCES
            ),
            batch_tokens=BATCH_TOKENS,
        )


def to_request(
    sentences: Sequence[Sequence[str]], model: str, output: str
) -> PredictRequest:
    lengths = [len(sentence) for sentence in sentences]
    rows = [np.array(sentence, object) for sentence in sentences]
    tokens = padded_arrays(rows, b"")
    request = PredictRequest(output_filter=[output])
    request.model_spec.name = model
    request.model_spec.signature_name = "tokens"
    request.inputs["tokens"].CopyFrom(tf.make_tensor_proto(tokens, tf.string))
    request.inputs["sequence_len"].CopyFrom(tf.make_tensor_proto(lengths, tf.int32))
    return request


def retry(call: Callable[[], PredictResponse]) -> PredictResponse:
    """Calls until the server answers, with a longer pause after each refusal.

    gRPC's own retries end with the deadline of the first attempt, or after five.
    """
    pause = FIRST_PAUSE
    for _ in range(ATTEMPTS - 1):
        try:
            return call()
        except grpc.RpcError as error:
            if error.code() not in RETRIED:
                raise
        # Random, so that clients refused together don't return together.
        time.sleep(pause * random.uniform(0.5, 1.5))
        pause = min(2 * pause, MAX_PAUSE)
    return call()


def unpad(row: np.ndarray, length: int, output: str) -> np.ndarray:
    if row.ndim == 0:
        raise ValueError(f"{output!r} has no vectors. Request another output.")
    if row.ndim == 1:
        return row
    return row[..., :length, :]


def to_array(proto: TensorProto) -> np.ndarray:
    """Works as `tf.make_ndarray`, but without a Python object of each number in `float_val`."""
    if proto.dtype == tf.float32.as_datatype_enum and len(proto.float_val) > 1:
        shape = [dim.size for dim in proto.tensor_shape.dim]
        return np.array(proto.float_val, np.float32).reshape(shape)
    return tf.make_ndarray(proto)


def write_embeddings(
    path: Path, sentences: Sequence[Sequence[str]], vectors: Iterable[np.ndarray]
) -> None:
    """Writes the vectors of sentences to a `.hdf5` or `.h5`, or one of each to a `.npy`."""
    vectors = iter(vectors)
    first = next(vectors)
    vectors = itertools.chain([first], vectors)
    batches: Any = [(range(len(sentences)), vectors)]  # one, computed as it is written
    with replacing(path) as temporary:
        if not is_npy(path):
            index = {" ".join(tokens): str(i) for i, tokens in enumerate(sentences)}
            write_hdf5(temporary, batches, metadata={}, sentence_to_index=index)
            return
        if first.ndim != 1:
            raise ValueError(
                "A .npy holds one vector a sentence, such as the output 'default'. "
                f"Received: the shape {first.shape}"
            )
        shape = len(sentences), *first.shape
        write_npy(temporary, batches, shape=shape, dtype=first.dtype.str)
