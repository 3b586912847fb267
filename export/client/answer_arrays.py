"""Arrays of the tensors in answers."""

import numpy as np
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto


def array_of(proto: TensorProto) -> np.ndarray:
    """The array of a tensor, as `tf.make_ndarray`.

    That function makes a Python object of each number in `float_val`, which both
    servers answer with by default. Protocol buffers hand them over as a block.

    Raises:
        ValueError, TypeError: shape and number of values differ.
    """
    if proto.dtype == tf.float32.as_datatype_enum and len(proto.float_val) > 1:
        shape = [dim.size for dim in proto.tensor_shape.dim]
        return np.array(proto.float_val, np.float32).reshape(shape)
    return tf.make_ndarray(proto)
