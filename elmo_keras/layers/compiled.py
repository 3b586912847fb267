"""Functions compiled by XLA, for steps of training whose shapes don't vary.

A compiled function reads and writes each number once, where single operations do so a
dozen times. Each new shape is compiled again, for about a second; texts of any shape
have functions of their own, see `compiled_runs`.
"""

import functools
from collections.abc import Callable

import tensorflow as tf


@functools.cache
def compiled(function: Callable, **constants) -> Callable:
    """A function of tensors, compiled if this TensorFlow was built with XLA.

    Args:
        function: takes tensors, and the constants as keyword arguments.
        **constants: hashable.
    """
    return tf.function(
        functools.partial(function, **constants),
        autograph=False,
        jit_compile=tf.test.is_built_with_xla(),
    )
