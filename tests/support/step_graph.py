"""Graphs of a training step and of prediction, made without memory for variables.

How a GPU would run them is read from TensorFlow's kernel registry, which lists the
kernels for GPUs on machines without a GPU too.
"""

import functools
from typing import NamedTuple

import keras
import tensorflow as tf
from tensorflow.python.framework import kernels
from tensorflow.python.ops.resource_variable_ops import UninitializedVariable

from elmo_keras import BidirectionalLanguageModel
from elmo_keras.training.optimizers import make_optimizer
from elmo_keras.training.options import RunSettings
from elmo_keras.training.run import TrainingRun
from elmo_keras.training.step import compiled_step


class Sizes(NamedTuple):
    """Sizes of a batch, None if they differ from batch to batch."""

    rows: int
    vocabulary: int
    negatives: int | None
    words: int | None = None
    characters: int | None = None
    candidates: int | None = None
    from_zero: bool = False  # whether some sentences are read from the zero state


def without_memory(next_creator, initial_value=None, shape=None, dtype=None, **kwargs):
    """A variable creator: no tensor is allocated for a variable."""
    if not callable(initial_value):
        kwargs |= {"initial_value": initial_value, "shape": shape, "dtype": dtype}
        return next_creator(**kwargs)
    with tf.Graph().as_default():
        shape = initial_value().shape
    trainable = kwargs.get("trainable")
    return UninitializedVariable(shape=shape, dtype=dtype, trainable=trainable)


def training_step(config, sizes: Sizes, dtype="float32"):
    """The concrete function of a step, and its run."""
    settings = RunSettings(batch_size=sizes.rows)
    with tf.variable_creator_scope(without_memory):
        bilm = _bilm(config, sizes.vocabulary, dtype)
        optimizer = make_optimizer()
        optimizer.build(bilm.trainable_weights)
    strategy = tf.distribute.get_strategy()
    run = TrainingRun(strategy, bilm, optimizer, None, settings, None)
    run.state = bilm.lstm.zero_state(sizes.rows)
    batch = (_batch(sizes, config, settings.unroll_steps),)
    return compiled_step(run, batch).get_concrete_function(), run


def prediction(config, dtype="float32"):
    """The concrete function of a biLM on character ids."""
    with tf.variable_creator_scope(without_memory):
        bilm = _bilm(config, None, dtype)
    length = config.max_characters_per_token
    ids = tf.TensorSpec((None, None, length), tf.int32)
    return tf.function(bilm, autograph=False).get_concrete_function(ids)


def _bilm(config, vocabulary_size, dtype):
    bilm = BidirectionalLanguageModel(
        config,
        vocabulary_size=vocabulary_size,
        dropout=0.1,
        dtype=keras.DTypePolicy(dtype),
    )
    bilm.build()
    return bilm


def _batch(sizes, config, time):
    spec = tf.TensorSpec
    characters = sizes.characters or config.max_characters_per_token
    batch = {
        "characters": spec((sizes.words, characters), tf.int32),
        "words": spec((2, sizes.rows, time), tf.int32),
        "targets": spec((2, sizes.rows, time), tf.int32),
        "weights": spec((sizes.rows, time), tf.float32),
        "n_predictions": spec((), tf.float32),
        "seed": spec((2,), tf.int32),
    }
    if sizes.from_zero:
        batch["from_zero"] = spec((sizes.rows, time), tf.bool)
    if sizes.negatives is not None:
        batch |= {
            "candidates": spec((sizes.candidates,), tf.int32),
            "negatives": spec((2, sizes.negatives), tf.int32),
            "log_expected": spec((2, sizes.candidates), tf.float32),
        }
    return batch


def nodes_of(graph_def) -> list:
    """The nodes of a graph and of its functions."""
    functions = [node for f in graph_def.library.function for node in f.node_def]
    return [*graph_def.node, *functions]


def kernel_of(node):
    """The kernel with which a GPU runs a node, or None."""
    dtypes = tuple(sorted((k, a.type) for k, a in node.attr.items() if a.type))
    return _kernel(node.op, dtypes)


@functools.cache
def _kernel(op, dtypes):
    dtypes = dict(dtypes)

    def fits(kernel):
        return all(
            dtypes.get(c.name) in (None, *c.allowed_values.list.type)
            for c in kernel.constraint
        )

    # DEFAULT kernels are for every device, and keep small integers on the host.
    found = kernels.get_registered_kernels_for_op(op).kernel
    for device in ("GPU", "DEFAULT"):
        for kernel in found:
            if kernel.device_type == device and fits(kernel):
                return kernel
    return None
