"""A second name for the input of a signature, in calls from TensorFlow 2."""

from collections.abc import Iterable
from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel


def add_keyword(directory: str | Path, signatures: Iterable[str], keyword: str) -> None:
    """Lets signatures of one input take it by another keyword too.

    TensorFlow 2 binds the arguments of a loaded signature to the parameters that the
    file describes and, if they don't fit, to a list of keywords that the file holds
    apart from them. Sessions and servers read neither.

    Args:
        directory: a SavedModel just written by `tf.saved_model.save`.
        signatures: their names.
        keyword: the second name of their input.
    """
    path = Path(directory) / tf.saved_model.SAVED_MODEL_FILENAME_PB
    saved_model = SavedModel.FromString(path.read_bytes())
    (meta_graph,) = saved_model.meta_graphs
    nodes = meta_graph.object_graph_def.nodes
    for signature in signatures:
        node = nodes[0]
        for name in ("signatures", signature):
            children = {child.local_name: child.node_id for child in node.children}
            node = nodes[children[name]]
        node.bare_concrete_function.argument_keywords[:] = [keyword]
    path.write_bytes(saved_model.SerializeToString(deterministic=True))
