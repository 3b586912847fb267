"""A SavedModel with the signatures of an export, in place of a language model.

The vector of a token holds the number of its bytes and the sum up to it, times
`scale`, so that rows, positions, padding and versions can be told apart. A token
`slow` takes some milliseconds, and `bad` is refused.
"""

import atexit
import contextlib
import functools
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

from elmo_keras.serve.config import Config, ModelConfig
from elmo_keras.serve.servable import WARM_UP
from elmo_keras.serve.server import Server
from tests.support.paths import ROOT
from tests.support.serving_requests import text_request
from tests.support.waiting import PATIENCE, wait_until

SPINS = 150  # products of 64 × 64, for a slow token


class StandIn(tf.Module):
    """The signatures `default`, `serving_default` and `tokens`."""

    def __init__(self, scale=1.0):
        super().__init__()
        self.scale = tf.Variable(scale, dtype=tf.float32)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "sentences")])
    def default(self, sentences):
        words = tf.strings.split(sentences)
        return self._outputs(words.to_tensor(""), tf.cast(words.row_lengths(), "int32"))

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None], tf.string, "tokens"),
            tf.TensorSpec([None], tf.int32, "sequence_len"),
        ]
    )
    def tokens(self, tokens, sequence_len):
        longest = tf.reduce_max(tf.concat([sequence_len, [0]], 0))
        checks = [
            tf.debugging.assert_less_equal(longest, tf.shape(tokens)[1], "too long"),
            tf.debugging.assert_non_negative(sequence_len, "negative"),
        ]
        with tf.control_dependencies(checks):
            return self._outputs(tokens, tf.identity(sequence_len))

    def _outputs(self, tokens, lengths):
        mask = tf.sequence_mask(lengths, tf.shape(tokens)[1], tf.float32)
        is_bad = tf.reduce_any((tokens == "bad") & (mask > 0))
        check = tf.debugging.assert_equal(is_bad, False, "a bad token")
        with tf.control_dependencies([check]):
            sizes = tf.cast(tf.strings.length(tokens), tf.float32) * mask
        n_slow = tf.math.count_nonzero((tokens == "slow") & (mask > 0), dtype=tf.int32)
        sizes += _nothing_after(SPINS * n_slow)
        before = tf.cumsum(sizes, axis=1)
        elmo = tf.stack([sizes, before, 2 * sizes], -1) * mask[..., None] * self.scale
        n = tf.maximum(tf.cast(lengths, tf.float32), 1.0)
        return {
            "word_emb": sizes[..., None] * tf.ones([1, 1, 2]),
            "elmo": elmo,
            "layers": tf.stack([elmo, 2 * elmo], axis=1),
            "default": tf.reduce_sum(elmo, axis=1) / n[:, None],
            "sequence_len": lengths,
        }


def _nothing_after(spins):
    """0, after `spins` products of matrices."""
    product = tf.zeros([64, 64])
    for _ in tf.range(spins):
        product = tf.linalg.matmul(product, product) * 0.0
    return product[0, 0]


def save(directory, version=1, *, scale=1.0, warm_up=()):
    """Writes a version, with warm-up requests for the texts `warm_up`."""
    path = directory / str(version)
    shutil.copytree(_saved(scale), path)
    if warm_up:
        (path / WARM_UP).parent.mkdir()
        with tf.io.TFRecordWriter(str(path / WARM_UP)) as writer:
            for text in warm_up:
                log = PredictionLog()
                log.predict_log.request.CopyFrom(text_request([text]))
                writer.write(log.SerializeToString())
    return directory


@functools.cache
def _saved(scale):
    """A version for `save` to copy: tracing takes longer than copying."""
    path = Path(tempfile.mkdtemp(prefix="stand_in-"))
    atexit.register(shutil.rmtree, path)
    module = _stand_in()
    module.scale.assign(scale)
    default = dict.fromkeys(("default", "serving_default"), module.default)
    tf.saved_model.save(module, str(path), default | {"tokens": module.tokens})
    return path


_stand_in = functools.cache(StandIn)


def vectors(sentence, scale=1.0):
    """The output `elmo` of a sentence, a list of tokens: (tokens, 3)."""
    sizes = np.array([len(token.encode()) for token in sentence], "float32")
    return np.stack([sizes, np.cumsum(sizes), 2 * sizes], -1) * np.float32(scale)


class Gate:
    """Takes the place of a servable's `run`: calls wait until the gate opens."""

    def __init__(self, servable):
        self._run = servable.run
        self.signature = servable.signature
        self.name, self.tokenizer = servable.name, servable.tokenizer
        self.batches = []  # the inputs and keys of each call
        self._open = threading.Event()

    def run(self, signature, inputs, keys, **kwargs):
        self.batches.append((inputs, keys))
        assert self._open.wait(PATIENCE)
        return self._run(signature, inputs, keys, **kwargs)

    def open(self):
        self._open.set()

    def wait_for(self, n):
        wait_until(lambda: len(self.batches) >= n)

    @property
    def sizes(self):
        return [len(next(iter(inputs.values()))) for inputs, _ in self.batches]


@contextlib.contextmanager
def closed_gate(server, monkeypatch):
    """A gate before the loaded version of a server, opened at the end."""
    with server.models["elmo"].lease() as servable:
        gate = Gate(servable)
    with monkeypatch.context() as patch:
        patch.setattr(servable, "run", gate.run)
        try:
            yield gate
        finally:
            gate.open()


@contextlib.contextmanager
def serving(directory, **options):
    """A server of a directory, in this process, on free ports."""
    models = options.pop("models", [ModelConfig("elmo", directory)])
    usual = {
        "port": 0,
        "rest_port": 0,
        "poll_seconds": 60.0,
        "max_message_mb": 1,
        "rest_timeout": PATIENCE,
        "rest_body_timeout": PATIENCE,
    }
    server = Server(models, Config(**usual | options))
    try:
        yield server
    finally:
        server.drain(PATIENCE)
        server.close()


@contextlib.contextmanager
def serving_process(directory, *arguments):
    """The command in a process of its own: process, first line, port of gRPC."""
    command = [sys.executable, "-m", "export.serve", directory, "--port=0"]
    with subprocess.Popen(
        [*command, "--rest-port=0", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            line = process.stdout.readline()
            yield process, line, int(line.split("gRPC on port ")[1].split(",")[0])
        finally:
            process.kill()


@contextlib.contextmanager
def asking(server, host="localhost"):
    options = [("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(f"{host}:{server.port}", options=options) as channel:
        yield PredictionServiceStub(channel)


@contextlib.contextmanager
def refused(code, message=""):
    """Expects that a call fails with a status, and a message with these words."""
    with pytest.raises(grpc.RpcError) as raised:
        yield
    assert raised.value.code() is code, raised.value
    assert message in raised.value.details()
