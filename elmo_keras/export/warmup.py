"""Requests that TensorFlow Serving runs before a version answers its first user."""

import itertools
from collections.abc import Mapping
from pathlib import Path

import tensorflow as tf

from elmo_keras.export.session_graph import inputs_of

# Sentences and tokens of each request.
SIZES = ((1, 1), (1, 20), (8, 20), (32, 30))
WARMUP = "tf_serving_warmup_requests"
LENGTHS = "sequence_len"


def write_warmup(extra: Path, model_name: str, signatures: Mapping) -> None:
    try:  # optional: only servers need these requests
        from tensorflow_serving.apis import prediction_log_pb2
    except ImportError as error:
        raise ImportError(
            "Warm-up requests need tensorflow-serving-api: "
            "pip install 'elmo-keras[export]'."
        ) from error
    with tf.io.TFRecordWriter(str(extra / WARMUP)) as file:
        for signature, inputs in _requests(signatures):
            log = prediction_log_pb2.PredictionLog()
            request = log.predict_log.request
            request.model_spec.name = model_name
            request.model_spec.signature_name = signature
            for name, value in inputs.items():
                request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
            file.write(log.SerializeToString())


def _requests(signatures):
    for rows, length in SIZES:
        number = itertools.count()
        tokens = [[f"word{next(number)}" for _ in range(length)] for _ in range(rows)]
        texts = [" ".join(row) for row in tokens]
        numbers = {LENGTHS: tf.fill([rows], length).numpy()}
        first = tf.zeros([rows], tf.int32).numpy()
        for name in ("default", "tokens"):
            if name in signatures:
                yield (
                    name,
                    {
                        key: (texts if spec.shape.rank == 1 else tokens)
                        if spec.dtype == tf.string
                        else numbers.get(key, first)
                        for key, spec in inputs_of(signatures[name]).items()
                    },
                )
