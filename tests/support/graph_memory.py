"""An upper estimate of the memory of a graph, from the lives of its tensors."""

import math

import tensorflow as tf

# The output is the input's memory.
SAME_MEMORY = ("Identity", "Reshape", "EnsureShape", "ExpandDims", "Squeeze")
IN_PLACE = ("TensorScatterUpdate",)  # of a matrix product that nothing else reads
LOOPS = ("While", "StatelessWhile")
NONE = ("ReadVariableOp", "Placeholder")  # a variable's own, and the batch


def peak(graph, unknown, at_least=2**20) -> tuple[int, list[tuple[int, str]]]:
    """Most bytes at a time, and the tensors that are there then, largest first.

    The operations are gone through in the order in which they were made, which is
    forward and then backward, and so are those of the functions that they call. A
    tensor lives until its last reader has run. That no operation writes over its
    input, and that a function's arguments live until it returns, is more than is
    needed; what one pass of a loop makes, and workspace, is left out.

    Args:
        graph: a `tf.Graph`.
        unknown: function of a tensor to the size of its axis of unknown size.
        at_least: bytes of tensors that are told.
    """
    operations = graph.get_operations()
    last = {}
    for i, operation in enumerate(operations):
        for x in operation.inputs:
            last[_owner(x).ref()] = i
    outputs = {_owner(x).ref() for x in graph.outputs}
    living, most, there = {}, 0, []
    for i, operation in enumerate(operations):
        for x in operation.outputs:
            if _owner(x) is x and (x.ref() in last or x.ref() in outputs):
                living[x.ref()] = (size(x, unknown), x.name)
        inner = _within(graph, operation, unknown)
        total = inner + sum(n for n, _ in living.values())
        if total > most:
            most, there = total, [(inner, f"within {operation.name}")]
            there += living.values()
        used = {_owner(x).ref() for x in (*operation.inputs, *operation.outputs)}
        for x in used - outputs:
            if last.get(x, i) <= i:
                living.pop(x, None)
    return most, sorted((t for t in there if t[0] >= at_least), reverse=True)


def size(x, unknown) -> int:
    """Bytes of a tensor of numbers."""
    if x.op.type in LOOPS and x.dtype == tf.variant:
        # A list of tensors has the size of what they are concatenated to.
        concatenated = [c for c in x.consumers() if c.type == "TensorListConcatV2"]
        return sum(size(c.outputs[0], unknown) for c in concatenated)
    if x.op.type in NONE or not (x.dtype.is_floating or x.dtype.is_integer):
        return 0
    n = unknown(x)
    return x.dtype.size * math.prod(d if d is not None else n for d in x.shape)


def _owner(x):
    """The tensor in whose memory a tensor is."""
    while x.op.type in SAME_MEMORY + IN_PLACE:
        x = x.op.inputs[0]
    if x.op.type == "IdentityN":
        return _owner(x.op.inputs[x.value_index])
    return x


def _within(graph, operation, unknown):
    """Bytes within a function that the operation calls, besides its outputs."""
    if operation.type not in ("PartitionedCall", "StatefulPartitionedCall"):
        return 0
    function = graph._get_function(operation.get_attr("f").name).graph
    returned = {_owner(x).ref() for x in function.outputs}
    returned = sum(size(x.deref(), unknown) for x in returned)
    return max(0, peak(function, unknown)[0] - returned)


def of_variables(variables) -> int:
    """Bytes of variables."""
    return sum(tf.as_dtype(v.dtype).size * math.prod(v.shape) for v in variables)
