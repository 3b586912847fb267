"""The graph that sessions run: TensorFlow Serving, C++, TensorFlow 1.

`tf.saved_model.save` makes of a signature one call of one function, and a session
runs a function whole: whoever asks for `word_emb` alone would wait for the LSTMs
too. Here the operations of the function stand in the graph itself, and a session
runs those that the wanted outputs need. TensorFlow 2's own loader reads the functions
and is not concerned.
"""

from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

_CALLS = ("PartitionedCall", "StatefulPartitionedCall")


def unfold_signatures(directory: str | Path, signatures: dict) -> None:
    """Puts the operations of each signature into the graph of a SavedModel.

    Args:
        directory: what `tf.saved_model.save` has just written.
        signatures: name → concrete function, as they were saved.
    """
    path = Path(directory) / tf.saved_model.SAVED_MODEL_FILENAME_PB
    saved_model = SavedModel.FromString(path.read_bytes())
    (meta_graph,) = saved_model.meta_graphs
    graph = meta_graph.graph_def
    for name, function in signatures.items():
        _unfold(name, function, graph, meta_graph.signature_def[name])
    path.write_bytes(saved_model.SerializeToString(deterministic=True))
    # It was of the file as saved.
    (path.parent / "fingerprint.pb").unlink(missing_ok=True)


def _unfold(name, function, graph, signature):
    body = function.graph.as_graph_def()
    call = _node(graph, next(iter(signature.outputs.values())).name)
    given = dict(zip(_arguments(function, call, graph), call.input, strict=True))
    renamed = {node.name: f"{name}/{node.name}" for node in body.node}
    for node in body.node:
        if node.name not in given:
            _add(graph, node, given, renamed)
    for output, tensor in function.structured_outputs.items():
        signature.outputs[output].name = _moved(tensor.name, given, renamed)
    graph.node.remove(call)


def _node(graph, tensor):
    name = tensor.split(":")[0]
    return next(node for node in graph.node if node.name == name)


def _arguments(function, call, graph):
    """The placeholder within the function for each input of the call.

    The call is that of a wrapper, which calls the function.
    """
    library = {f.signature.name: f for f in graph.library.function}
    wrapper = library[call.attr["f"].func.name]
    (inner,) = (node for node in wrapper.node_def if node.op in _CALLS)
    placeholders = [tensor.op.name for tensor in function.inputs]
    by_name = dict(zip(inner.input, placeholders))
    return [by_name[argument.name] for argument in wrapper.signature.input_arg]


def _add(graph, node, given, renamed):
    new = graph.node.add()
    new.CopyFrom(node)
    new.name = renamed[node.name]
    new.input[:] = [_moved(tensor, given, renamed) for tensor in node.input]
    if "_class" in new.attr:  # nodes that stand together on a device
        places = new.attr["_class"].list.s
        places[:] = [_moved_place(place, given, renamed) for place in places]


def _moved(tensor, given, renamed):
    """A tensor of the function, `^node`, `node` or `node:1`, in the graph."""
    if tensor.startswith("^"):
        return f"^{renamed[tensor[1:]]}"
    node, *index = tensor.split(":")
    return given.get(node) or ":".join([renamed[node], *index])


def _moved_place(place, given, renamed):
    node = place.decode().removeprefix("loc:@")
    return f"loc:@{given.get(node) or renamed[node]}".encode()
