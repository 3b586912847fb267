"""A layer in int8 run by LiteRT's C functions: status 0 where they do what is expected."""

import numpy as np

from elmo_keras.lite import runtime
from elmo_keras.lite.graph import Graph, Matrix, Model


def main() -> None:
    runtime.KNOWN = ("",)  # any version: this process is the trial
    values = np.arange(-16, 16, dtype=np.int8).reshape(4, 8)
    model = Model()
    graph = Graph(model)
    weights = Matrix(values, np.full(4, 0.5, np.float32))
    graph.output("y", graph.dense(graph.input("x", 1, 8), weights))
    model.add("run", graph)
    compiled = runtime.CompiledModel(np.frombuffer(model.to_bytes(), np.uint8))
    x, y = runtime.aligned(8), runtime.aligned(4)
    x[:] = range(8)
    compiled.bind("run", {"x": x, "y": y})()
    np.testing.assert_allclose(y, values @ x * 0.5, atol=1)


if __name__ == "__main__":
    main()
