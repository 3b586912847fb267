"""Shared parts of loops within graphs."""

import functools
from collections.abc import Callable

import tensorflow as tf

# Errors where XLA can't compile for a device, or lacks its compiler or a library.
NOT_COMPILED = (
    tf.errors.InvalidArgumentError,
    tf.errors.UnimplementedError,
    tf.errors.InternalError,
    tf.errors.NotFoundError,
    tf.errors.UnknownError,
)


def why_not_compiled(error: tf.errors.OpError) -> str:
    """The first line of one of these errors, or its name."""
    return (error.message or type(error).__name__).strip().splitlines()[0]


@functools.cache
def has_xla() -> bool:
    """Whether XLA compiles for this device; an old GPU or a missing library prevents it."""
    if not tf.test.is_built_with_xla():
        return False
    function = tf.function(tf.tanh, autograph=False, jit_compile=True)
    try:
        with tf.init_scope():
            function(tf.zeros(1))
    except NOT_COMPILED:
        return False
    return True


HOST = "CPU:0"  # computes how the work is divided, even if a GPU does the work


def rows_array(dtype, length, width: int, *, rows: int | None = None, read=False):
    """A TensorArray of matrices (rows, width), which `read` says are read singly."""
    return tf.TensorArray(
        dtype,
        length,
        element_shape=(rows, width),
        infer_shape=False,
        clear_after_read=not read,
    )


def write_all(arrays, indices, values):
    return tuple(a.write(i, v) for a, i, v in zip(arrays, indices, values))


@functools.cache
def compiled(function: Callable, **constants) -> Callable:
    """A function of tensors, compiled where XLA can.

    It reads and writes each number once, where single operations do so a dozen times.
    Each new shape is compiled again, for about a second: it is for shapes that don't
    vary. The constants are keyword arguments of the function.
    """
    return tf.function(
        functools.partial(function, **constants),
        autograph=False,
        jit_compile=has_xla(),
    )
