"""A SavedModel whose graph is optimised once, for all choices of its outputs.

A session optimises the graph anew for each set of outputs that it is asked for, which
takes seconds and both processors. From a graph that is optimised already it only picks
the operations that a choice needs.
"""

import contextlib
import logging
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

# The optimiser has no public name; without it, graphs are served as they are.
from tensorflow.python.grappler import tf_optimizer

LOG = logging.getLogger(__name__)
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
FETCHES = "train_op"  # the collection of the tensors that the optimiser keeps
NAME = tf.saved_model.SAVED_MODEL_FILENAME_PB

_lock = threading.Lock()


@contextlib.contextmanager
def optimized(directory: Path) -> Iterator[Path]:
    """A temporary folder with the optimised graph and links to everything else.

    A graph that can't be optimised, or not be written, is served from its own
    directory, which is given back then. It is a SavedModel with the tag `serve`.
    """
    with contextlib.ExitStack() as stack:
        try:
            graph = _optimized(directory / NAME)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            (folder / NAME).write_bytes(graph.SerializeToString())
            for path in directory.iterdir():
                if path.name != NAME:
                    os.symlink(path.resolve(), folder / path.name)
        except Exception as error:  # the loader reports what is wrong with a file
            LOG.debug("The graph of %s can't be optimised: %s", directory, error)
            folder = directory
        yield folder


def _optimized(file):
    saved_model = SavedModel.FromString(file.read_bytes())
    (meta_graph,) = saved_model.meta_graphs
    given = type(meta_graph)()
    given.CopyFrom(meta_graph)
    for node in given.graph_def.node:
        node.device = node.device or CPU  # operations are fused for a known device
    given.collection_def.clear()
    kept = given.collection_def[FETCHES].node_list.value
    kept.extend(sorted(_tensors_to_keep(meta_graph)))
    with _lock:  # the optimiser allows one at a time
        graph = tf_optimizer.OptimizeGraph(tf.compat.v1.ConfigProto(), given)
    meta_graph.graph_def.CopyFrom(graph)
    return saved_model


def _tensors_to_keep(meta_graph):
    """Names of the tensors that clients and the loader ask for."""
    saver = meta_graph.saver_def
    names = {saver.restore_op_name, saver.filename_tensor_name, saver.save_tensor_name}
    for signature in meta_graph.signature_def.values():
        tensors = [*signature.inputs.values(), *signature.outputs.values()]
        names |= {tensor.name for tensor in tensors}
    for collection in meta_graph.collection_def.values():
        names |= set(collection.node_list.value)
    return names - {""}
