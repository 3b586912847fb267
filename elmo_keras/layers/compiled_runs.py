"""The recurrence of `recurrence` over runs of steps, each a function compiled by XLA.

With a few rows, a step's dozens of small operations take longer than its arithmetic. A
compiled run is one operation. It is compiled once for each number of rows, a power of
two, whatever the lengths of the sentences are.
"""

import functools

import tensorflow as tf

from elmo_keras.layers.lstm_cell import cell
from elmo_keras.layers.recurrence import Clips, State, Weights, cell_dtype, clip
from elmo_keras.layers.row_runs import SIGNATURE, Kind, Runs, most_steps


@functools.cache
def runs_graph(dim, units, projection_dim, *, compute_dtype, clips: Clips, kind: Kind):
    """A graph that runs one LSTM layer over packed tokens, for all of these sizes.

    It takes the packed tokens (tokens, dim), the tensors of their `Runs`, the
    `Weights`, with plain matrices instead of panels, and the initial `State`, with the
    rows of the first run. It returns the outputs (tokens, projection_dim) of the runs,
    which have no gradient.

    Args:
        dim, units, projection_dim, compute_dtype: as in `ProjectedLSTM`.
        clips: `Clips`.
        kind: of the `Runs`.
    """

    def spec(*shape, dtype=compute_dtype):
        return tf.TensorSpec(shape, dtype)

    of_cells = cell_dtype(compute_dtype)
    weights = Weights(
        spec(dim, 4 * units),
        spec(projection_dim, 4 * units),
        spec(4 * units, dtype=of_cells),
        spec(units, projection_dim),
    )
    state = State(spec(None, projection_dim), spec(None, units, dtype=of_cells))
    return tf.function(
        functools.partial(_over_runs, clips=clips, kind=kind),
        input_signature=[spec(None, dim), SIGNATURE, (weights, state)],
        autograph=False,
    )


def _over_runs(x, runs, weights_and_state, *, clips, kind):
    weights, state = weights_and_state
    runs = Runs(*runs, kind)

    def one_run(i, state, outputs):
        power, *places = tf.unstack(runs.table[i])
        _, _, token, n_tokens = places
        products = tf.matmul(x[token : token + n_tokens], weights.kernel)
        arguments = {"weights": weights, "state": state, "clips": clips}
        branches = [
            functools.partial(_one_run, 2**p, products, (runs, places), **arguments)
            for p in range(kind.powers)
        ]
        values, state = (
            branches[0]() if kind.powers == 1 else tf.switch_case(power, branches)
        )
        return i + 1, state, outputs.write(i, values)

    n_runs, width = tf.shape(runs.table)[0], state.output.shape[1]
    outputs = tf.TensorArray(
        x.dtype, n_runs, element_shape=(None, width), infer_shape=False
    )
    _, _, outputs = tf.while_loop(
        lambda i, *_: i < n_runs, one_run, (0, state, outputs), parallel_iterations=1
    )
    return outputs.concat()


def _one_run(rows, products, runs_and_places, *, weights, state, clips):
    """Outputs (tokens, projection) and the last state of one run.

    Args:
        rows: of the compiled function.
        products: x W of the run's tokens, (tokens, 4 · units).
        runs_and_places: `Runs`, and the row of its table without the power of two.
        weights, state, clips: as in `runs_graph`. Only the first rows are used.
    """
    runs, (step, n_steps, token, n_tokens) = runs_and_places
    room = most_steps(rows)
    size = (room + 1) * rows
    outputs, last = _compiled(rows, clips=clips)(
        _with_rows(tf.pad(products, [[0, size - n_tokens], [0, 0]]), size),
        tf.slice(runs.sizes, [step], [room]),
        n_steps,
        weights=weights,
        state=State(*(_with_rows(part[:rows], rows) for part in state)),
    )
    return tf.gather(outputs, tf.slice(runs.places, [token], [n_tokens])), last


def _with_rows(x, number):
    """A matrix whose number of rows is known."""
    return tf.ensure_shape(x, (number, x.shape[1]))


@functools.cache
def _compiled(rows, *, clips):
    return tf.function(
        functools.partial(_steps, rows=rows, clips=clips),
        autograph=False,
        jit_compile=True,
    )


def _steps(products, sizes, n_steps, *, weights, state, rows, clips):
    """Outputs (most steps · rows, projection) of a run, and the last state.

    Args:
        products: x W, (tokens, 4 · units), with at least `rows` more rows.
        sizes: int32 (most steps,), the number of tokens of each step.
        n_steps: int32, at most as many.
        weights, state, rows, clips: as above. The rows of sentences that have ended
            are computed as well.
    """
    units, width = weights.projection_kernel.shape
    room = sizes.shape[0]

    def one_step(place, state, outputs):
        step, first = place  # the step's first token
        # A slice that depended on `sizes` alone would be compiled for each value.
        inputs = tf.slice(products, [first, 0], [rows, 4 * units])
        recurrent = tf.matmul(state.output, weights.recurrent_kernel)
        _, cells, hidden = cell(
            (inputs, recurrent),
            weights.bias,
            state.cell,
            continuing=1.0,
            bound=clips.cell,
        )
        output = clip(tf.matmul(hidden, weights.projection_kernel), clips.output)
        outputs = outputs.write(step, output)
        place = step + 1, first + sizes[step]
        return place, State(output, cells), outputs

    outputs = tf.TensorArray(products.dtype, room, element_shape=(rows, width))
    _, last, outputs = tf.while_loop(
        lambda place, *_: place[0] < n_steps, one_step, ((0, 0), state, outputs)
    )
    return tf.reshape(outputs.stack(), [room * rows, width]), last
