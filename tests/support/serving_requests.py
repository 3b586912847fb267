"""Requests of Predict, valid and malformed ones."""

import numpy as np
import tensorflow as tf
from tensorflow_serving.apis.predict_pb2 import PredictRequest

INTEGERS = "sequence_len", "predicate"


def predict_request(inputs, *outputs, signature=""):
    request = PredictRequest(output_filter=outputs)
    request.model_spec.name = "elmo"
    request.model_spec.signature_name = signature
    for name, values in inputs.items():
        dtype = tf.int32 if name in INTEGERS else tf.string
        request.inputs[name].CopyFrom(tf.make_tensor_proto(values, dtype))
    return request


def text_request(texts, *outputs, signature=""):
    return predict_request({"sentences": texts}, *outputs, signature=signature)


def tokens_request(tokens, lengths, *outputs):
    tokens = np.array(tokens, object).reshape(len(lengths), -1)
    inputs = {"tokens": tokens, "sequence_len": lengths}
    return predict_request(inputs, *outputs, signature="tokens")


def malformed() -> dict[str, PredictRequest]:
    requests = {}

    def wrong(name, request=None):
        requests[name] = text_request(["a", "b"]) if request is None else request
        return requests[name].inputs["sentences"]

    wrong("data type").dtype = tf.int32.as_datatype_enum
    wrong("unknown rank").tensor_shape.unknown_rank = True
    wrong("negative size").tensor_shape.dim[0].size = -1
    wrong("huge product").tensor_shape.dim.add(size=2**62)
    wrong("rank").tensor_shape.dim.add(size=1)
    wrong("too many values").string_val.append(b"c")
    wrong("content").tensor_content = b"abc"
    wrong("signature", text_request(["a"], signature="other"))
    wrong("output", text_request(["a"], "elmo", "other"))
    wrong("no input", text_request(["a"]))
    del requests["no input"].inputs["sentences"]
    requests["further input"] = text_request(["a"])
    requests["further input"].inputs["other"].CopyFrom(tf.make_tensor_proto(["a"]))
    cases = {"length": [2, 9], "negative length": [-1, 1], "rows": [1, 1, 1]}
    for name, lengths in cases.items():
        requests[name] = tokens_request([["a", "b"], ["c", ""]], [1, 1])
        tensor = requests[name].inputs["sequence_len"]
        tensor.CopyFrom(tf.make_tensor_proto(lengths, tf.int32))
    requests["cut content"] = tokens_request([["a"], ["b"]], [1, 1])
    cut = requests["cut content"].inputs["sequence_len"]
    cut.tensor_content = cut.tensor_content[:-1]
    return requests
