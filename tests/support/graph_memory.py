"""An upper estimate of the memory of a graph, from the lifetimes of its tensors."""

import math

import tensorflow as tf

# The output shares the memory of the input.
SAME_MEMORY = ("Identity", "Reshape", "EnsureShape", "ExpandDims", "Squeeze")
IN_PLACE = ("TensorScatterUpdate",)  # into a matrix product that nothing else reads
LOOPS = ("While", "StatelessWhile")
NONE = ("ReadVariableOp", "Placeholder")  # memory of a variable, and of the batch


def peak(graph, unknown, at_least=2**20) -> tuple[int, list[tuple[int, str]]]:
    """The maximum of bytes in use, and the tensors of `at_least` bytes in use then.

    Operations run in the order in which they were made; a tensor lives until its last
    reader has run, an argument until its function returns. Tensors of a single pass of a
    loop are left out. `unknown` gives the size of a tensor's axis of unknown size.
    """
    operations = graph.get_operations()
    last = {}
    for i, operation in enumerate(operations):
        for x in operation.inputs:
            last[_owner(x).ref()] = i
    outputs = {_owner(x).ref() for x in graph.outputs}
    living, maximum, in_use = {}, 0, []
    for i, operation in enumerate(operations):
        for x in operation.outputs:
            if _owner(x) is x and (x.ref() in last or x.ref() in outputs):
                living[x.ref()] = (size(x, unknown), x.name)
        inner = _within(graph, operation, unknown)
        total = inner + sum(n for n, _ in living.values())
        if total > maximum:
            maximum, in_use = total, [(inner, f"within {operation.name}")]
            in_use += living.values()
        used = {_owner(x).ref() for x in (*operation.inputs, *operation.outputs)}
        for x in used - outputs:
            if last.get(x, i) <= i:
                living.pop(x, None)
    return maximum, sorted((t for t in in_use if t[0] >= at_least), reverse=True)


def size(x, unknown) -> int:
    if x.op.type in LOOPS and x.dtype == tf.variant:
        # A list of tensors has the size of their concatenation.
        concatenated = [c for c in x.consumers() if c.type == "TensorListConcatV2"]
        if concatenated:
            return sum(size(c.outputs[0], unknown) for c in concatenated)
        return _of_list(x, unknown)
    if x.op.type in NONE or not (x.dtype.is_floating or x.dtype.is_integer):
        return 0
    n = unknown(x)
    return x.dtype.size * math.prod(d if d is not None else n for d in x.shape)


def _of_list(x, unknown):
    source = x.op.inputs[x.value_index].op
    while source.type == "TensorListSetItem":
        source = source.inputs[0].op
    if source.type != "TensorListReserve":
        return 0
    shape, number = map(tf.get_static_value, source.inputs)
    known = math.prod(int(d) for d in shape if d >= 0)
    if min(shape) < 0:
        return source.get_attr("element_dtype").size * known * unknown(x)
    return source.get_attr("element_dtype").size * known * int(number or 0)


def _owner(x):
    """The tensor whose memory a tensor shares."""
    while x.op.type in SAME_MEMORY + IN_PLACE:
        x = x.op.inputs[0]
    if x.op.type == "IdentityN":
        return _owner(x.op.inputs[x.value_index])
    return x


def _within(graph, operation, unknown):
    """Bytes in use within a called function, without its outputs."""
    if operation.type not in ("PartitionedCall", "StatefulPartitionedCall"):
        return 0
    function = graph._get_function(operation.get_attr("f").name).graph
    returned = {_owner(x).ref() for x in function.outputs}
    returned = sum(size(x.deref(), unknown) for x in returned)
    return max(0, peak(function, unknown)[0] - returned)


def of_variables(variables) -> int:
    return sum(tf.as_dtype(v.dtype).size * math.prod(v.shape) for v in variables)
