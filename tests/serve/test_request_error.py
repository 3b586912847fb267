import grpc
import pytest
import tensorflow as tf

from elmo_keras.serve.errors import tensorflow_error, without_paths

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
    error = tf.errors.InternalError(None, None, "{{node a/b}} of /srv/model failed")
    assert str(tensorflow_error(error)) == "of model failed"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("no checkpoint: /tmp/x/3/variables/variables", "no checkpoint: variables"),
        ("'exported/3/saved_model.pb' is missing", "'saved_model.pb' is missing"),
        ("[Errno 2] No such file: '/srv/m.txt'", "[Errno 2] No such file: 'm.txt'"),
        ("(/a/b/) at ../up/c and gs://bucket/d", "() at c and d"),
        ("read and/or write 3/4 [1/2] of it", "read and/or write 3/4 [1/2] of it"),
    ],
)
def test_of_a_path_only_the_last_part_is_left(message, expected):
    assert without_paths(message) == expected
