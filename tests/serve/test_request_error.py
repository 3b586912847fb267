import grpc
import tensorflow as tf

from elmo_keras.serve.errors import tensorflow_error

GRAPH = """Graph execution error:

Detected at node 'tokens/Assert_1/Assert' defined at (most recent call last):
Node: 'tokens/Assert_1/Assert'
assertion failed: [lengths:] [1] [9]
\t [[{{node tokens/Assert_1/Assert}}]]

Original stack trace for 'tokens/Assert_1/Assert':
"""


def test_errors_of_the_graph_name_none_of_its_nodes():
    error = tensorflow_error(tf.errors.InvalidArgumentError(None, None, GRAPH))
    assert str(error) == "assertion failed: [lengths:] [1] [9]"
    assert error.code is grpc.StatusCode.INVALID_ARGUMENT
    error = tf.errors.InternalError(None, None, "{{node a/b}} failed")
    assert str(tensorflow_error(error)) == "failed"
