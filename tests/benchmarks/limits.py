"""What a step of an LSTM layer takes apart from its arithmetic, part by part.

    python -m tests.benchmarks.limits --presets small --rows 1 8 32 128 256

Each part runs alone in a loop of a graph, as often as in the layer: the product of the
inputs of all steps, the two products of a step, its other arithmetic, and an empty
loop, which shows what starting operations costs at least. "Step" is a whole step as the
layer computes it, outside of compiled runs. Times are microseconds a row, the fastest of all
rounds. "Of peak" is the share that products of these shapes could reach alone, and the
share that a step reaches; "GB/s" is how fast its two products read their weights.

The second table has a step's two products for one row alone, which need little more than
reading the weights: in both dtypes, as operations of TensorFlow and compiled by XLA.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence

import tensorflow as tf

from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import run_command
from elmo_keras.config import PRESETS, ElmoConfig
from elmo_keras.layers import ProjectedLSTM
from elmo_keras.layers.panels import product
from elmo_keras.layers.recurrence import clip
from tests.benchmarks.arithmetic import of_position
from tests.benchmarks.workers import heading, machine, row

PARTS = "inputs", "recurrent", "projection", "other", "loop"
COLUMNS = "preset", "rows", *PARTS, "step", "of peak: products, step", "GB/s"
DTYPES = tf.float32, tf.bfloat16
OF_ONE_ROW = "preset", "dtype", "by", "µs a step", "GB/s"
STEPS = 16
GEMM = 4096  # rows and columns of the product that gives the peak


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command("limits.py", lambda: report(options))


def report(options: argparse.Namespace) -> None:
    """Prints the table."""
    x = tf.random.normal((GEMM, GEMM))
    large = {"product": lambda: tf.matmul(x, x)[0]}
    peak = 2 * GEMM**3 / (fastest(large, options.rounds)["product"] * STEPS)
    print(heading(COLUMNS), flush=True)
    for preset in options.presets:
        config = ElmoConfig.preset(preset)
        lstm = ProjectedLSTM(config.units, config.projection_dim)
        lstm.build((None, None, config.projection_dim))
        for rows in options.rows:
            times = fastest(parts(lstm, rows), options.rounds)
            cells = [f"{seconds * 1e6 / rows:,.1f}" for seconds in times.values()]
            needed = arithmetic(config) * rows / peak
            alone = sum(times[name] for name in PARTS[:3])
            cells.append(f"{needed / alone:.0%}, {needed / times['step']:.0%}")
            seconds = times["recurrent"] + times["projection"]
            cells.append(f"{bytes_of_step(config) / seconds / 1e9:.0f}")
            print(row([preset, f"{rows}", *cells]), flush=True)
    print(f"\n{heading(OF_ONE_ROW)}", flush=True)
    for preset in options.presets:
        config = ElmoConfig.preset(preset)
        for (dtype, by), seconds in fastest(one_row(config), options.rounds).items():
            speed = bytes_of_step(config, dtype) / seconds / 1e9
            cells = [preset, dtype.name, by, f"{seconds * 1e6:,.0f}", f"{speed:.0f}"]
            print(row(cells), flush=True)
    print(f"\nPeak: {peak / 1e9:,.0f} GFLOP/s. {machine(2)}")


def arithmetic(config: ElmoConfig) -> int:
    """Floating-point operations of one layer in one direction for a token."""
    return of_position(config) // (2 * config.n_layers)


def bytes_of_step(config: ElmoConfig, dtype: tf.DType = tf.float32) -> int:
    """Bytes of the weights that a step of one layer in one direction reads."""
    return dtype.size * (4 + 1) * config.units * config.projection_dim


def parts(lstm: ProjectedLSTM, rows: int) -> dict[str, Callable[[], object]]:
    """Functions that run each part of a step `STEPS` times."""
    units, dim = lstm.units, lstm.projection_dim
    x, hidden, cell = (tf.random.normal((rows, n)) for n in (dim, units, units))
    gates, inputs = tf.random.normal((rows, 4 * units)), tf.tile(x, [STEPS, 1])

    def other(cell):
        i, j, f, o = tf.split(gates + gates, 4, axis=1)
        cell = clip(tf.sigmoid(f) * cell + tf.sigmoid(i) * tf.tanh(j), 3.0)
        return tf.sigmoid(o) * tf.tanh(cell)

    def recurrent(x):
        return product(x, lstm.recurrent_kernel.value)[:, :dim]

    def projection(hidden):
        output = product(hidden, lstm.projection_kernel.value)
        return tf.tile(output, [1, -(-units // dim)])[:, :units]

    return {
        "inputs": tf.function(lambda: tf.matmul(inputs, lstm.kernel.value)),
        "recurrent": repeated(recurrent, x),
        "projection": repeated(projection, hidden),
        "other": repeated(other, cell),
        "loop": repeated(lambda x: x, x),
        "step": whole(lstm, rows),
    }


def one_row(config: ElmoConfig) -> dict[tuple[tf.DType, str], Callable[[], object]]:
    """Functions that run a step's two products for one row `STEPS` times."""
    units, dim = config.units, config.projection_dim
    functions = {}
    for dtype in DTYPES:
        kernel, projection = (
            tf.cast(tf.random.normal(shape), dtype)
            for shape in ((dim, 4 * units), (units, dim))
        )

        def products(x, kernel=kernel, projection=projection):
            return tf.matmul(tf.matmul(x, kernel)[:, :units], projection)

        x = tf.zeros((1, dim), dtype)
        functions[dtype, "TensorFlow"] = repeated(products, x)
        functions[dtype, "XLA"] = repeated(products, x, jit_compile=True)
    return functions


def repeated(
    part: Callable, x: tf.Tensor, jit_compile: bool | None = None
) -> Callable[[], object]:
    """A graph that runs a part `STEPS` times, on its own result."""

    def run():
        return tf.while_loop(
            lambda i, _: i < STEPS, lambda i, x: (i + 1, part(x)), (0, x)
        )

    # A concrete function: TensorFlow warns if a `tf.function` is made repeatedly.
    graph = tf.function(run, autograph=False, jit_compile=jit_compile)
    return graph.get_concrete_function()


def whole(lstm: ProjectedLSTM, rows: int) -> Callable[[], object]:
    """A function that runs a layer for `STEPS` steps."""
    x = tf.random.normal((STEPS * rows, lstm.projection_dim))
    sizes, state = tf.fill([STEPS], rows), lstm.zero_state(rows)
    graph = tf.function(
        lambda sizes: lstm.call_packed(x, sizes, state),
        input_signature=[tf.TensorSpec((None,), tf.int32)],
        autograph=False,
    )
    return lambda: graph(sizes)


def fastest(functions: dict[str, Callable], rounds: int) -> dict[str, float]:
    """Seconds a step, the functions in turns, without the first call of each."""
    times = {name: [] for name in functions}
    for _ in range(rounds + 1):
        for name, function in functions.items():
            start = time.perf_counter()
            tf.nest.flatten(function())[-1].numpy()
            times[name].append(time.perf_counter() - start)
    return {name: min(some[1:]) / STEPS for name, some in times.items()}


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = p.add_argument
    add("--presets", nargs="+", default=["small"], choices=sorted(PRESETS))
    add("--rows", nargs="+", type=positive(int), default=[1, 8, 32, 128, 256])
    add("--rounds", type=positive(int), default=5)
    return p


if __name__ == "__main__":
    sys.exit(main())
