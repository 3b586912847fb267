"""How a GPU would run the graphs of training and prediction, checked without a GPU.

TensorFlow's kernel registry lists the kernels for GPUs on machines without a GPU too.
"""

import functools

import pytest
import tensorflow as tf
from tensorflow.python.framework import kernels

from elmo_keras import BidirectionalLanguageModel, ElmoConfig, Streams
from elmo_keras.training.distribution import make_strategy
from elmo_keras.training.optimizers import make_optimizer
from elmo_keras.training.options import RunSettings
from elmo_keras.training.run import TrainingRun
from elmo_keras.training.step import compiled_step
from tests.support.training_runs import CORPUS, VOCABULARY

CONFIG = ElmoConfig.preset("test")
# Distinct words are found as strings, which only the host has.
STRINGS = {"UnicodeEncode", "Reshape of strings", "Size of strings", "UnicodeDecode"}
NO_KERNEL = {"Placeholder"}  # an argument, not an operation
SIZE_DEPENDS_ON_DATA = {"Where", "Unique", "UniqueV2", "UniqueWithCounts", "NonZero"}


@functools.cache
def kernel_of(op, dtypes):
    """The kernel with which a GPU runs an operation on these types, or None."""
    types = dict(dtypes)
    # DEFAULT kernels are for every device, and keep small integers on the host.
    for kernel in kernels.get_registered_kernels_for_op(op).kernel:
        fits = all(
            types.get(c.name) in (None, *c.allowed_values.list.type)
            for c in kernel.constraint
        )
        if kernel.device_type in ("GPU", "DEFAULT") and fits:
            return kernel
    return None


def nodes_of(function):
    """The nodes of a concrete function and of those that it calls."""
    graph = function.graph.as_graph_def()
    return [*graph.node, *(n for f in graph.library.function for n in f.node_def)]


def without_kernel(nodes):
    lacking = set()
    for node in nodes:
        types = tuple(sorted((k, a.type) for k, a in node.attr.items() if a.type))
        if "CPU" not in node.device and kernel_of(node.op, types) is None:
            is_string = node.attr["T"].type == tf.string.as_datatype_enum
            lacking.add(node.op + " of strings" * is_string)
    return lacking


@pytest.fixture(
    scope="module",
    params=[
        ("sampled", "float32"),
        pytest.param(("full", "mixed_bfloat16"), marks=pytest.mark.slow),
        pytest.param(("sampled", "mixed_bfloat16"), marks=pytest.mark.slow),
        pytest.param(("full", "float32"), marks=pytest.mark.slow),
    ],
    ids="-".join,
)
def step(request):
    softmax, dtype = request.param
    sampled = (
        {"n_negatives": 2, "zero_state_share": 0.5} if softmax == "sampled" else {}
    )
    bilm = BidirectionalLanguageModel(
        CONFIG, vocabulary_size=len(VOCABULARY), dropout=0.1, dtype=dtype
    )
    bilm.build()
    optimizer = make_optimizer()
    optimizer.build(bilm.trainable_weights)
    streams = Streams(CORPUS, VOCABULARY, CONFIG, n_rows=3, **sampled)
    run = TrainingRun(make_strategy(1), bilm, optimizer, streams, RunSettings(), None)
    run.reset_state()
    compiled = compiled_step(run, streams.batches(0).element_spec)
    return nodes_of(compiled.get_concrete_function())


def test_every_operation_of_a_training_step_has_a_kernel_for_gpus(step):
    assert len(step) > 1000 and without_kernel(step) <= NO_KERNEL


@pytest.mark.parametrize(
    "dtype", ["float32", pytest.param("mixed_bfloat16", marks=pytest.mark.slow)]
)
def test_every_operation_of_prediction_except_on_strings_has_a_kernel_for_gpus(dtype):
    bilm = BidirectionalLanguageModel(CONFIG, dtype=dtype)
    ids = tf.TensorSpec((None, None, CONFIG.ids_per_token), tf.int32)
    graph = tf.function(bilm, autograph=False).get_concrete_function(ids)
    assert without_kernel(nodes_of(graph)) <= NO_KERNEL | STRINGS


def test_in_a_training_step_no_size_depends_on_what_the_gpu_computes(step):
    # The host has some, for the number of rows of an LSTM at each step.
    on_gpu = [node for node in step if "CPU" not in node.device]
    assert [n.name for n in on_gpu if n.op in SIZE_DEPENDS_ON_DATA] == []
