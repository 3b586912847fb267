#!/usr/bin/env bash
# tensorflow-serving-api 2.21.0 (TensorFlow 2.21.0): a request with too few strings is filled up.
#
# One would guess: a TensorProto with 2 strings and the shape [5] is an error.
# What happens: its last string is repeated to the shape, by tf.make_ndarray and in the graph; with
# no string at all, the tensor holds empty ones.
# Why it matters: a client that loses rows, or sets the shape by hand, gets vectors for all five
# sentences, and no sign that three were never sent. Compare len(string_val) with the shape.
exec "$(dirname "$0")/with_packages" tensorflow-serving-api==2.21.0 tensorflow==2.21.0 <<'PY'
import tensorflow as tf
from tensorflow_serving.apis.predict_pb2 import PredictRequest

request = PredictRequest()
sent = tf.make_tensor_proto(["first", "second"])
sent.tensor_shape.dim[0].size = 5
request.inputs["sentences"].CopyFrom(sent)
arrived = PredictRequest.FromString(request.SerializeToString()).inputs["sentences"]
array = tf.make_ndarray(arrived)
in_graph = tf.io.parse_tensor(arrived.SerializeToString(), tf.string).numpy()
print("2 strings, shape [5]:", array, in_graph)
del arrived.string_val[:]
print("none:", tf.make_ndarray(arrived))
assert array.tolist() == in_graph.tolist() == [b"first"] + [b"second"] * 4
PY
