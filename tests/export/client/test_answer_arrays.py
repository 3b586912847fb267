"""Arrays of the tensors in answers, in each way that a server may write them."""

import numpy as np
import pytest
import tensorflow as tf

from export.client.remote import array_of
from export.serve.proto_tensors import fill

VECTORS = np.arange(30, dtype=np.float32).reshape(2, 3, 5) / 7


@pytest.mark.parametrize("as_content", [False, True])
@pytest.mark.parametrize(
    "array", [VECTORS, VECTORS[:, :0], VECTORS[:1, :1, :1], np.int32([[3, 5]])]
)
def test_arrays_are_those_that_were_sent(array, as_content):
    proto = tf.make_tensor_proto(0.0)
    proto.Clear()
    fill(proto, array, as_content=as_content)
    found = array_of(proto)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_floats_are_not_made_one_by_one(monkeypatch):
    proto = tf.make_tensor_proto(0.0)
    proto.Clear()
    fill(proto, VECTORS)
    monkeypatch.setattr(tf, "make_ndarray", None)
    np.testing.assert_array_equal(array_of(proto), VECTORS)


def test_one_value_may_stand_for_all():
    proto = tf.make_tensor_proto(0.5, shape=(2, 3))
    np.testing.assert_array_equal(array_of(proto), np.full((2, 3), 0.5, np.float32))


def test_numbers_that_do_not_fit_the_shape_are_refused():
    proto = tf.make_tensor_proto(0.0, shape=(2, 3))
    proto.float_val.extend([1, 2])
    with pytest.raises(ValueError, match="cannot reshape"):
        array_of(proto)
