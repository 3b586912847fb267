"""What a step of an LSTM layer takes apart from its arithmetic, part by part.

    python -m tests.benchmarks.limits --presets small --rows 1 8 32 128 256

Each part runs alone in a loop of a graph, as often as in the layer: the product of the
inputs of all steps, the two products of a step, its other arithmetic, and an empty loop.
"Step" is a whole step as the layer computes it, outside of compiled runs. Times are
microseconds a row, the fastest of all rounds. "Of peak" is the share that products of
these shapes could reach alone, and the share that a step reaches; "GB/s" is how fast its
two products read their weights.
"""

import time
from collections.abc import Callable, Sequence

import tensorflow as tf

from elmo_keras.config import ElmoConfig
from elmo_keras.layers import ProjectedLSTM
from elmo_keras.layers.blocked_weights import product
from elmo_keras.layers.lstm_cell import clip
from tests.benchmarks import runner
from tests.benchmarks.embedding import of_position

PARTS = "inputs", "recurrent", "projection", "other", "loop"
STEPS = 16
GEMM = 4096  # rows and columns of the product that gives the peak


def main(
    *,
    presets: Sequence[runner.Preset] = ("small",),
    rounds: runner.Count = 5,
    rows: Sequence[runner.Count] = (1, 8, 32, 128, 256),
) -> None:
    x = tf.random.normal((GEMM, GEMM))
    large = {"product": lambda: tf.matmul(x, x)[0]}
    peak = 2 * GEMM**3 / (fastest(large, rounds)["product"] * STEPS)
    runner.head("preset", "rows", *PARTS, "step", "of peak: products, step", "GB/s")
    for preset in presets:
        config = ElmoConfig.preset(preset)
        lstm = ProjectedLSTM(config.units, config.projection_dim)
        lstm.build((None, None, config.projection_dim))
        for n in rows:
            times = fastest(parts(lstm, n), rounds)
            needed = arithmetic(config) * n / peak
            alone = sum(times[name] for name in PARTS[:3])
            speed = bytes_of_step(config) / (times["recurrent"] + times["projection"])
            cells = [f"{seconds * 1e6 / n:,.1f}" for seconds in times.values()]
            cells.append(f"{needed / alone:.0%}, {needed / times['step']:.0%}")
            runner.row(preset, n, *cells, f"{speed / 1e9:.0f}")
    print(f"\nPeak: {peak / 1e9:,.0f} GFLOP/s")


def arithmetic(config: ElmoConfig) -> int:
    """Floating-point operations of one layer in one direction for a token."""
    return of_position(config) // (2 * config.n_layers)


def bytes_of_step(config: ElmoConfig) -> int:
    """Bytes of the weights that a step of one layer in one direction reads."""
    return 4 * (4 + 1) * config.units * config.projection_dim


def parts(lstm: ProjectedLSTM, rows: int) -> dict[str, Callable[[], object]]:
    """Functions that run each part of a step `STEPS` times."""
    units, dim = lstm.units, lstm.projection_dim
    x, hidden, cell = (tf.random.normal((rows, n)) for n in (dim, units, units))
    gates, inputs = tf.random.normal((rows, 4 * units)), tf.tile(x, [STEPS, 1])
    sizes, state = tf.fill([STEPS], rows), lstm.zero_state(rows)

    def other(cell):
        i, j, f, o = tf.split(gates + gates, 4, axis=1)
        cell = clip(tf.sigmoid(f) * cell + tf.sigmoid(i) * tf.tanh(j), 3.0)
        return tf.sigmoid(o) * tf.tanh(cell)

    def recurrent(x):
        return product(x, lstm.recurrent_kernel.value)[:, :dim]

    def projection(hidden):
        output = product(hidden, lstm.projection_kernel.value)
        return tf.tile(output, [1, -(-units // dim)])[:, :units]

    step = tf.function(
        lambda sizes: lstm.call_packed(inputs, sizes, state),
        input_signature=[tf.TensorSpec((None,), tf.int32)],
        autograph=False,
    )
    return {
        "inputs": tf.function(lambda: tf.matmul(inputs, lstm.kernel.value)),
        "recurrent": repeated(recurrent, x),
        "projection": repeated(projection, hidden),
        "other": repeated(other, cell),
        "loop": repeated(lambda x: x, x),
        "step": lambda: step(sizes),
    }


def repeated(part: Callable, x: tf.Tensor) -> Callable[[], object]:
    """A graph that runs a part `STEPS` times, on its own result."""

    def run():
        return tf.while_loop(
            lambda i, _: i < STEPS, lambda i, x: (i + 1, part(x)), (0, x)
        )

    # A concrete function: TensorFlow warns if a `tf.function` is made repeatedly.
    return tf.function(run, autograph=False).get_concrete_function()


def fastest(functions: dict[str, Callable], rounds: int) -> dict[str, float]:
    """Seconds a step, the functions in turns, without the first call of each."""

    def timed(function, _):
        start = time.perf_counter()
        tf.nest.flatten(function())[-1].numpy()
        return time.perf_counter() - start

    times = runner.in_turns(functions, timed, rounds=rounds, warm_up=1)
    return {name: min(some) / STEPS for name, some in times.items()}


if __name__ == "__main__":
    runner.run(main)
