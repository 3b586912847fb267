"""Vectors of sentences from a server: this project's or TensorFlow Serving."""

import concurrent.futures
import random
import time
from collections.abc import Callable, Iterator, Sequence

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis.predict_pb2 import PredictRequest
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

WORTH_ANOTHER_TRY = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
)
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0  # seconds before another try
BATCHES_AT_ONCE = 16  # whose sentences are put in order of length

Sentence = Sequence[str]


def embed_text(
    sentences: Sequence[Sentence],
    server: str = "localhost:8500",
    *,
    model: str = "elmo",
    output: str = "elmo",
    batch_tokens: int = 2048,
    batch_size: int = 32,
    timeout: float = 60.0,
    retries: int = 5,
    in_flight: int = 4,
    progress: Callable[[int], None] = lambda n: None,
) -> Iterator[np.ndarray]:
    """The vectors of each sentence, in the order of the sentences.

    Requests hold sentences of like lengths. gRPC's own retries end with the deadline
    of the first try and after five, so those here are made one by one.

    Args:
        sentences: each a sequence of tokens, which may be empty.
        server: host and port of gRPC.
        model: the name that the server knows it by.
        output: key of the signature `tokens`, such as `elmo`, `layers`, `default`.
        batch_tokens: most tokens of a request, padding included, unless one sentence
            has more.
        batch_size: most sentences of a request.
        timeout: seconds that the server has for a request.
        retries: further tries of a request that the server is too busy for.
        in_flight: requests at the same time.
        progress: called with a number of sentences whenever they are done.

    Yields:
        float arrays: `(tokens, 2 · projection)` for `elmo`, `(layers, tokens,
        2 · projection)` for `layers`, `(2 · projection,)` for `default`.

    Raises:
        ValueError: the output has no vector for a sentence.
        grpc.RpcError: the server refuses, or is not there.
    """
    pool = concurrent.futures.ThreadPoolExecutor(in_flight)
    unlimited = [
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
    ]
    with grpc.insecure_channel(server, options=unlimited) as channel:
        predict = PredictionServiceStub(channel).Predict

        def ask(batch):
            request = _request([sentences[i] for i in batch], model, output)
            response = _patiently(lambda: predict(request, timeout=timeout), retries)
            return tf.make_ndarray(response.outputs[output])

        try:
            for part in _parts(sentences, batch_tokens * BATCHES_AT_ONCE):
                batches = batches_by_length(sentences, part, batch_tokens, batch_size)
                found = {}
                for batch, array in zip(batches, pool.map(ask, batches)):
                    for i, row in zip(batch, array):
                        found[i] = _own_positions(row, len(sentences[i]), output)
                    progress(len(batch))
                yield from (found[i] for i in part)
        finally:
            pool.shutdown(cancel_futures=True)


def batches_by_length(
    sentences: Sequence[Sentence],
    part: Sequence[int],
    batch_tokens: int,
    batch_size: int,
) -> list[list[int]]:
    """Indices of sentences, those of like lengths together.

    Args:
        sentences: of which `part` names some.
        part: their indices.
        batch_tokens: most tokens of a batch, padding included, unless one sentence
            has more.
        batch_size: most sentences of a batch.
    """
    batches: list[list[int]] = []
    for i in sorted(part, key=lambda i: len(sentences[i])):
        rows = len(batches[-1]) + 1 if batches else 0
        full = rows > batch_size or rows * len(sentences[i]) > batch_tokens
        if not batches or full:
            batches.append([])
        batches[-1].append(i)
    return batches


def _parts(sentences, tokens):
    """Indices of sentences one after another, with so many tokens in all or more."""
    part, size = [], 0
    for i, sentence in enumerate(sentences):
        part.append(i)
        size += len(sentence) + 1  # an empty sentence takes space too
        if size >= tokens:
            yield part
            part, size = [], 0
    if part:
        yield part


def _request(sentences, model, output):
    """A request of the signature `tokens`."""
    lengths = [len(sentence) for sentence in sentences]
    tokens = np.full((len(sentences), max(lengths)), b"", object)
    for row, sentence in zip(tokens, sentences):
        row[: len(sentence)] = [token.encode() for token in sentence]
    request = PredictRequest(output_filter=[output])
    request.model_spec.name = model
    request.model_spec.signature_name = "tokens"
    request.inputs["tokens"].CopyFrom(tf.make_tensor_proto(tokens, tf.string))
    request.inputs["sequence_len"].CopyFrom(tf.make_tensor_proto(lengths, tf.int32))
    return request


def _patiently(call, retries):
    """Calls until it is answered, with longer and longer pauses."""
    pause = FIRST_PAUSE
    for left in range(retries, -1, -1):
        try:
            return call()
        except grpc.RpcError as error:
            if error.code() not in WORTH_ANOTHER_TRY or not left:
                raise
        # Not all clients that were refused at once shall come again at once.
        time.sleep(pause * random.uniform(0.5, 1.5))
        pause = min(2 * pause, LONGEST_PAUSE)


def _own_positions(row, length, output):
    """The array of one sentence without the padding."""
    if row.ndim == 0:
        raise ValueError(f"{output!r} has no vectors. Ask for another output.")
    if row.ndim == 1:
        return row
    return row[..., :length, :]
