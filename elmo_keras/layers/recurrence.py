"""The recurrence of an LSTM over packed tokens, and its gradient.

A step computes `lstm_cell` for the rows that still have a token, see `over_sentences`.
x W + b does not depend on the step before: it is one matrix product for many steps, in
pieces of bounded size. The gradient is written out, as that of a `tf.while_loop` adds up
weight gradients step by step; here it is one matrix product over all tokens.
"""

import functools

import tensorflow as tf

from elmo_keras.layers import lstm_cell
from elmo_keras.layers.blocked_weights import block, product, transpose
from elmo_keras.layers.loops import HOST, rows_array, write_all
from elmo_keras.layers.lstm_cell import Clips, State, Weights

# How many numbers of x W + b are held at once: 128 MiB in float32.
PIECE_SIZE = 2**25


def over_packed(x, weights: Weights, state: State, clips: Clips, *, sizes, keep: bool):
    """One LSTM layer over packed tokens: outputs (tokens, projection), last state.

    `x` is (tokens, in), `sizes` and the order of `state` are those of `over_sentences`.
    `keep` says whether the gradient's activations are kept, 5 · units numbers per token;
    if not, the gradient runs the recurrence once more.
    """
    tensors = [weight for weight in weights if weight is not None]
    rows = [tf.TensorSpec((None, *t.shape[1:]), t.dtype) for t in (x, sizes, *state)]
    signature = *rows, *(tf.TensorSpec(w.shape, w.dtype) for w in tensors)
    # Activations kept within another graph can't be read outside of it.
    eager = keep and tf.executing_eagerly()
    run = recurrence_graph(signature, clips, keep, eager=eager)
    outputs, *last = run(x, sizes, *state, *tensors)
    return outputs, tuple(last)


@functools.cache
def recurrence_graph(signature, clips, keep, *, eager):
    """The recurrence as a graph, traced once for all layers of these sizes."""

    def with_gradient(x, sizes, *state_and_weights):
        @tf.custom_gradient
        def run(x, output, cell, *weights):
            operands = x, sizes, Weights(*weights), State(output, cell), clips
            outputs, last, kept_activations = _forward(*operands, keep=keep)

            def gradient(d_outputs, *d_last):
                gates, cells = kept_activations or _forward(*operands, keep=True)[2]
                activations = outputs, gates, cells
                return _backward(*operands, activations, d_outputs, State(*d_last))

            return (outputs, *last), gradient

        return run(x, *state_and_weights)

    return tf.function(with_gradient, input_signature=signature, autograph=False)


class Steps:
    """Slices of packed tokens and of rows' state, by `sizes` of `over_sentences`."""

    def __init__(self, sizes):
        self.sizes = sizes
        self.count = tf.size(sizes)
        with tf.device(HOST):
            self.ends = tf.cumsum(sizes)
        self.starts = self.ends - sizes
        self.next_sizes = tf.concat([sizes[1:], [0]], axis=0)

    def rows(self, tokens, step, first=0):
        """The step's rows of packed `tokens`, whose first row is token `first`."""
        start = count_at(self.starts, step) - first
        return slice_rows(tokens, start, count_at(self.sizes, step))

    def ending(self, state, step):
        """The rows of `state` whose last step this is."""
        first = count_at(self.next_sizes, step)
        return slice_state(state, first, count_at(self.sizes, step) - first)


def count_at(counts, step):
    # With a GPU, integers are sliced on the host, where the next slice needs them. A
    # gather would run on the device, and each step would wait for a copy.
    return tf.slice(counts, tf.reshape(step, [1]), [1])


def slice_rows(x, first, count):
    """`count` (1,) rows of a matrix from row `first` (1,) on."""
    # A plain Slice: indexing with brackets takes several more operations.
    rows = tf.slice(x, tf.concat([first, [0]], 0), tf.concat([count, [-1]], 0))
    return tf.ensure_shape(rows, (None, x.shape[1]))


def slice_state(state, first, count):
    return State(*(slice_rows(part, first, count) for part in state))


def _forward(x, sizes, weights, state, clips, *, keep):
    """Outputs, last `State`, and all gates (activated) and cell states or none."""
    steps = Steps(sizes)
    with tf.device(HOST):
        limits = steps.starts + PIECE_SIZE // weights.kernel.shape[1]
        piece_ends = tf.searchsorted(steps.ends, limits, side="right")
    piece_ends = tf.maximum(piece_ends, tf.range(steps.count) + 1)  # a step or more

    def piece(step, rows, arrays):
        start, stop = count_at(steps.starts, step), count_at(piece_ends, step)[0]
        length = count_at(steps.ends, stop - 1) - start
        inputs = tf.matmul(slice_rows(x, start, length), weights.kernel)
        inputs = tf.nn.bias_add(tf.cast(inputs, weights.bias.dtype), weights.bias)

        def one_step(step, rows, arrays):
            gate_inputs = steps.rows(inputs, step, start)
            recurrent = product(rows.output, weights.recurrent_kernel)
            gates = lstm_cell.gates_of(
                gate_inputs + tf.cast(recurrent, gate_inputs.dtype)
            )
            cells, hidden = lstm_cell.cell(gates, rows.cell, clips.cell)
            output = tf.cast(hidden, rows.output.dtype)
            if weights.projection_kernel is not None:
                output = lstm_cell.clip(
                    product(output, weights.projection_kernel), clips.output
                )
            new = State(output, cells)
            values = output, *steps.ending(new, step), tf.concat(gates, axis=1), cells
            # From the last step to the first: the rows that end last come first.
            from_the_end = steps.count - 1 - step
            indices = step, from_the_end, from_the_end, step, step
            arrays = write_all(arrays, indices, values)
            rows = slice_state(new, [0], count_at(steps.next_sizes, step))
            return step + 1, rows, arrays

        return tf.while_loop(lambda s, *_: s < stop, one_step, (step, rows, arrays))

    n_rows = tf.reduce_sum(sizes[:1])  # rows of the first step; others have no token
    rows = slice_state(state, [0], n_rows[None])
    columns = [(part.dtype, part.shape[1]) for part in (state.output, *state)]
    if keep:
        widths = weights.kernel.shape[1], state.cell.shape[1]
        columns += [(state.cell.dtype, width) for width in widths]
    arrays = tuple(rows_array(dtype, steps.count, width) for dtype, width in columns)
    _, _, arrays = tf.while_loop(
        lambda s, *_: s < steps.count,
        piece,
        (0, rows, arrays),
        parallel_iterations=1,  # the next piece is not computed ahead
    )
    outputs, *packed = (array.concat() for array in arrays)
    last, activations = packed[:2], packed[2:]
    last = [tf.concat([end, part[n_rows:]], 0) for end, part in zip(last, state)]
    return outputs, State(*last), activations


def _backward(x, sizes, weights, state, clips, activations, d_outputs, d_last):
    """Gradients with respect to x, each part of the state and each of the weights."""
    outputs, gates, cells = activations
    outputs_before, cells_before = _before(sizes, state, outputs, cells)
    gates = tf.split(gates, 4, axis=1)
    # All factors of the steps' gradients: (tokens, 7 · units).
    tanh, unclipped = tf.tanh(cells), lstm_cell.not_clipped(cells, clips.cell)
    to_gates = lstm_cell.gate_gradients(
        gates, tanh, cells_before, d_cell=1.0, d_hidden=1.0
    )
    to_cell = lstm_cell.through_tanh(unclipped, gates[3], tanh)
    d_gates, d_projected, d_state = _through_steps(
        Steps(sizes),
        weights,
        factors=tf.concat([to_gates, to_cell, unclipped, gates[2]], axis=1),
        unclipped=lstm_cell.not_clipped(outputs, clips.output),
        d_outputs=d_outputs,
        d_last=d_last,
    )
    gradients = [
        tf.matmul(d_gates, weights.kernel, transpose_b=True),
        *d_state,
        tf.matmul(x, d_gates, transpose_a=True),
        block(tf.matmul(outputs_before, d_gates, transpose_a=True)),
        tf.reduce_sum(tf.cast(d_gates, weights.bias.dtype), axis=0),
    ]
    if weights.projection_kernel is not None:
        hidden = tf.cast(gates[3] * tanh, x.dtype)
        gradients.append(block(tf.matmul(hidden, d_projected, transpose_a=True)))
    return gradients


def _before(sizes, first, outputs, cells):
    """Each packed token's output and cell state one step earlier; `first` at step 0."""
    rows, steps = tf.shape(first.cell)[0], tf.size(sizes)
    # In [first, packed], a token's value one step before is earlier by the
    # number of rows of that step.
    earlier = tf.concat([[rows], sizes], axis=0)[:steps]
    with tf.device(HOST):
        earlier = tf.repeat(earlier, sizes)  # (tokens,)
    index = tf.range(tf.size(earlier)) + rows - earlier
    return [
        tf.gather(tf.concat([start, x], 0), index)
        for start, x in zip(first, (outputs, cells))
    ]


def _through_steps(steps, weights, *, factors, unclipped, d_outputs, d_last):
    """Gradients of gate inputs, of unclipped outputs (both packed) and of the state."""
    recurrent_kernel = transpose(weights.recurrent_kernel)
    projects = weights.projection_kernel is not None
    projection_kernel = transpose(weights.projection_kernel) if projects else None
    units = d_last.cell.shape[1]

    def one_step(step, d_rows, arrays):
        step -= 1
        # The rows that end at this step join those that have another step.
        rows = zip(d_rows, steps.ending(d_last, step))
        d_rows = State(*(tf.concat(parts, axis=0) for parts in rows))
        d_output = d_hidden = d_rows.output + steps.rows(d_outputs, step)
        if projects:
            d_output *= steps.rows(unclipped, step)
            d_hidden = product(d_output, projection_kernel)
        to_gates, hidden_factor, cell_factor, to_before = tf.split(
            steps.rows(factors, step), [4 * units, units, units, units], axis=1
        )
        d_hidden = tf.cast(d_hidden, to_gates.dtype)
        d_cell = cell_factor * d_rows.cell + hidden_factor * d_hidden
        d_gates = to_gates * tf.concat([d_cell, d_cell, d_cell, d_hidden], axis=1)
        d_gates = tf.cast(d_gates, d_output.dtype)
        d_rows = State(product(d_gates, recurrent_kernel), to_before * d_cell)
        return step, d_rows, write_all(arrays, (step, step), (d_gates, d_output))

    # A 0 that graph optimisation does not fold: the first d_rows have no rows.
    no_rows = 0 * tf.reduce_sum(steps.sizes, keepdims=True)
    d_rows = slice_state(d_last, [0], no_rows)
    arrays = tuple(
        rows_array(d_outputs.dtype, steps.count, width)
        for width in (4 * units, unclipped.shape[1])
    )
    _, d_rows, arrays = tf.while_loop(
        lambda step, *_: step > 0, one_step, (steps.count, d_rows, arrays)
    )
    n_rows = tf.shape(d_rows.cell)[0]  # the rows after these had no step
    d_state = [tf.concat([d, last[n_rows:]], 0) for d, last in zip(d_rows, d_last)]
    return *(array.concat() for array in arrays), d_state
