"""The graph that sessions run: TensorFlow Serving, C++, TensorFlow 1.

`tf.saved_model.save` writes a signature as a call of one function, and a session always
runs a whole function: a client that requests only `word_emb` would wait for the LSTMs
too. This module moves the operations of the function into the graph itself, and a
session then runs only those that the requested outputs need. The loader of TensorFlow 2
reads the functions, not this graph.
"""

from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from elmo_keras.export.sentences import INPUT_NAMES


def edit_saved_model(directory: Path, signatures: dict) -> None:
    """Moves the operations of each signature into the graph of a SavedModel.

    `default` then accepts both names of its input, if it takes text alone.
    """
    path = directory / tf.saved_model.SAVED_MODEL_FILENAME_PB
    saved_model = SavedModel.FromString(path.read_bytes())
    (meta_graph,) = saved_model.meta_graphs
    for name, function in signatures.items():
        move_operations(name, function, meta_graph)
    inputs = set(inputs_of(signatures["default"]))
    if len(inputs) == 1 and inputs < {*INPUT_NAMES}:
        (other_name,) = {*INPUT_NAMES} - inputs
        for name in ("default", "serving_default"):
            add_keyword(meta_graph.object_graph_def.nodes, name, other_name)
    path.write_bytes(saved_model.SerializeToString(deterministic=True))
    # It is the fingerprint of the file before the change.
    (directory / "fingerprint.pb").unlink(missing_ok=True)


def inputs_of(function) -> dict[str, tf.TensorSpec]:
    specs = tf.nest.flatten(function.structured_input_signature)
    return {spec.name: spec for spec in specs}


def add_keyword(nodes, signature: str, keyword: str) -> None:
    # TensorFlow 2 binds the arguments of a loaded signature to the parameters that the
    # file describes and, if they don't fit, to a list of keywords that the file holds
    # apart from them. Sessions and servers read neither.
    node = nodes[0]
    for name in ("signatures", signature):
        children = {child.local_name: child.node_id for child in node.children}
        node = nodes[children[name]]
    node.bare_concrete_function.argument_keywords[:] = [keyword]


def move_operations(name: str, function, meta_graph) -> None:
    """Puts `name/…` for each operation of a function in place of the call of it."""
    graph, signature = meta_graph.graph_def, meta_graph.signature_def[name]
    output = next(iter(signature.outputs.values())).name.split(":")[0]
    call = next(node for node in graph.node if node.name == output)
    inputs = dict(zip(placeholders(function, call, graph), call.input, strict=True))

    def move(tensor):
        """The graph's name for the function's tensor `^node`, `node` or `node:1`."""
        if tensor.startswith("^"):
            return f"^{name}/{tensor[1:]}"
        return inputs.get(tensor.split(":")[0]) or f"{name}/{tensor}"

    for node in function.graph.as_graph_def().node:
        if node.name not in inputs:
            new = graph.node.add()
            new.CopyFrom(node)
            new.name = f"{name}/{node.name}"
            new.input[:] = [move(tensor) for tensor in node.input]
            if "_class" in new.attr:  # readers stay with their variables without it
                del new.attr["_class"]
    for key, tensor in function.structured_outputs.items():
        signature.outputs[key].name = move(tensor.name)
    graph.node.remove(call)


def placeholders(function, call, graph) -> list[str]:
    """The placeholder within the function for each input of the call to its wrapper."""
    library = {f.signature.name: f for f in graph.library.function}
    wrapper = library[call.attr["f"].func.name]
    (inner,) = (
        node for node in wrapper.node_def if node.op.endswith("PartitionedCall")
    )
    names = dict(zip(inner.input, (tensor.op.name for tensor in function.inputs)))
    return [names[argument.name] for argument in wrapper.signature.input_arg]
