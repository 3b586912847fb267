"""Counts the operations that a training step starts on a GPU, from its graph.

    python -m tests.benchmarks.kernel_count

No GPU is needed. Counted is each operation whose kernel leaves a result in a GPU's
memory, as often as its loop has rounds: the `unroll_steps`. A function that XLA compiles
counts once for each call. What TensorFlow's optimizer merges or removes is counted.
"""

import collections
import sys

import tensorflow as tf

from elmo_keras import ElmoConfig
from elmo_keras.training.options import TrainingOptions
from tests.benchmarks import runner
from tests.support.step_graph import (
    ON_HOST,
    Sizes,
    functions_of,
    kernel_of,
    training_step,
)

SIZES = Sizes(rows=128, vocabulary=50_000, negatives=8192)
LOOPS = "While", "StatelessWhile"
CALLS = "PartitionedCall", "StatefulPartitionedCall"
NOTHING = {  # no work for a GPU
    *("Const", "Placeholder", "ReadVariableOp", "Identity", "IdentityN"),
    *("Reshape", "Squeeze", "ExpandDims", "StopGradient", "PreventGradient"),
    # Lists of tensors hold the tensors, not copies of them.
    *("TensorListGetItem", "TensorListSetItem", "TensorListReserve", "EmptyTensorList"),
}
MOST_FREQUENT = 6


@runner.command
def main(*, presets: runner.Presets = ("tiny", "small", "original")) -> None:
    runner.head("preset", "operations on the GPU", "most frequent")
    for preset in presets:
        step, _ = training_step(ElmoConfig.preset(preset), SIZES, "float32")
        counts = counted(step.graph.as_graph_def(), TrainingOptions().unroll_steps)
        most = counts.most_common(MOST_FREQUENT)
        runner.row(preset, counts.total(), ", ".join(f"{n:,} {op}" for op, n in most))


def counted(graph_def: tf.compat.v1.GraphDef, rounds: int) -> collections.Counter:
    """How often each operation is started on a GPU, with so many rounds of each loop."""
    functions = {f.name: f for f in functions_of(graph_def)}
    compiled = {
        f.signature.name
        for f in graph_def.library.function
        if f.attr["_XlaMustCompile"].b
    }

    def has_loop(name):  # its own rounds are pieces, and a batch fits in one
        return any(node.op in LOOPS for node in functions[name].nodes.values())

    def of(name):
        counts = collections.Counter()
        for node in functions[name].nodes.values():
            if node.op in LOOPS:
                body = node.attr["body"].func.name
                times = 1 if has_loop(body) else rounds
                counts.update({op: n * times for op, n in of(body).items()})
            elif node.op in CALLS:
                called = node.attr["f"].func.name
                counts.update({"XLA": 1} if called in compiled else of(called))
            elif on_gpu(node):
                counts[node.op] += 1
        return counts

    return of("")


def on_gpu(node: tf.compat.v1.NodeDef) -> bool:
    """Whether a GPU works for this node, and leaves something in its memory."""
    kernel = kernel_of(node)
    if node.op in NOTHING or "CPU" in node.device or kernel is None:
        return False
    # Integers that stay on the host, such as sizes, are no work for it.
    return kernel.device_type == "GPU" and node.attr["T"].type not in ON_HOST


if __name__ == "__main__":
    sys.exit(main())
