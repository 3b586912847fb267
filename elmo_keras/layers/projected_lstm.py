"""One LSTM layer with projection, in one direction."""

import functools

import keras
import tensorflow as tf

from elmo_keras.layers import recurrence
from elmo_keras.layers.compiled_runs import runs_graph
from elmo_keras.layers.full_rows import over_full_rows
from elmo_keras.layers.initial_values import initial
from elmo_keras.layers.packing import over_real_tokens
from elmo_keras.layers.panels import InPanels, panel_shape, plain
from elmo_keras.layers.recurrence import Clips, State, Weights, cell_dtype
from elmo_keras.layers.recurrence_gradient import backward


@keras.saving.register_keras_serializable("elmo_keras")
class ProjectedLSTM(keras.layers.Layer):
    """An LSTM whose output is a clipped projection of the cell's output.

        i, j, f, o = x W + h R + b
        c' = clip(sigmoid(f + forget_bias) · c + sigmoid(i) · tanh(j))
        h' = clip((sigmoid(o) · tanh(c')) P)

    Masked positions are not computed: their output is 0, and the state stays as it
    is.

    Args:
        units: size of the cell state.
        projection_dim: size of the output.
        cell_clip: bound of the absolute cell state, or None.
        proj_clip: bound of the absolute output, or None.
        forget_bias: added to the forget gate at run time. Weights in the published
            layout need 1.0; it is 0.0 if the stored bias includes it.
        reverse: whether each row is read from its own last real token to its
            first. Outputs are at the position of their token either way.
        return_state: whether the state is returned as well.

    Call arguments:
        inputs: float tensor `(batch, time, dim)`.
        mask: boolean tensor `(batch, time)`, or None for no padding.
        initial_state: `(output, cell)` of shapes `(batch, projection_dim)` and
            `(batch, units)`; zeros if None.
        training: in training the activations are kept for the gradient, which
            is faster and needs more memory.

    Output: `(batch, time, projection_dim)`; with `return_state` a pair of this
    tensor and the state `(output, cell)` after each row's last real token. The cell
    state is at least float32, whatever the dtype policy.

    Example:

    >>> lstm = ProjectedLSTM(units=8, projection_dim=3)
    >>> lstm(keras.ops.ones((2, 5, 4))).shape
    TensorShape([2, 5, 3])

    Reference: Sak et al. 2014; Peters et al. 2018, section 3.1.
    """

    def __init__(
        self,
        units,
        projection_dim,
        *,
        cell_clip=3.0,
        proj_clip=3.0,
        forget_bias=1.0,
        reverse=False,
        return_state=False,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)  # the state keeps its dtype
        self.supports_masking = True
        self.units = units
        self.projection_dim = projection_dim
        self.cell_clip = cell_clip
        self.proj_clip = proj_clip
        self.forget_bias = forget_bias
        self.reverse = reverse
        self.return_state = return_state

    def build(self, input_shape):
        width = 4 * self.units
        self.kernel = self.add_weight(
            shape=(input_shape[-1], width),
            initializer=initial("glorot_uniform"),
            name="kernel",
        )
        self.recurrent_kernel = self._panels(
            "recurrent_kernel", self.projection_dim, width
        )
        self.bias = self.add_weight(
            shape=(width,), initializer="zeros", autocast=False, name="bias"
        )
        self.projection_kernel = self._panels(
            "projection_kernel", self.units, self.projection_dim
        )

    def _panels(self, name, depth, width):
        shape = panel_shape(depth, width)
        return self.add_weight(shape=shape, initializer=initial(InPanels()), name=name)

    def call(self, inputs, mask=None, initial_state=None, training=False):
        if initial_state is None:
            initial_state = self.zero_state(tf.shape(inputs)[0])
        outputs, state = over_real_tokens(
            functools.partial(self.call_packed, training=training),
            inputs,
            mask,
            state=tuple(initial_state),
            reverse=self.reverse,
        )
        return (outputs, state) if self.return_state else outputs

    def call_packed(self, x, sizes, state, *, training=False):
        """Runs the layer over packed tokens, see `packing.Packing`.

        Args:
            x: float tensor `(tokens, dim)`.
            sizes: int32 `(steps,)`, the number of rows of each step.
            state: `(output, cell)`, rows in packed order.
            training: as in a call.

        Returns:
            Outputs `(tokens, projection_dim)` and the state.
        """
        weights = Weights(
            self._as(self.kernel, self.compute_dtype),
            self._as(self.recurrent_kernel, self.compute_dtype),
            self._gate_biases(),
            self._as(self.projection_kernel, self.compute_dtype),
        )
        output, cell = state
        state = State(
            tf.cast(output, self.compute_dtype), tf.cast(cell, self.cell_dtype)
        )
        run = recurrence_graph(
            x.shape[-1],
            self.units,
            self.projection_dim,
            compute_dtype=self.compute_dtype,
            clips=Clips(self.cell_clip, self.proj_clip),
            keep=bool(training and self.trainable),
        )
        outputs, state = run(tf.cast(x, self.compute_dtype), sizes, (weights, state))
        return outputs, tuple(state)

    def call_rows(self, x, continuing, state):
        """Runs the layer in training over rows that have a token at every step.

        Args:
            x: float tensor `(steps · rows, dim)`, step by step.
            continuing: `(steps, rows, 1)`, 0.0 where the row starts from the zero
                state and 1.0 elsewhere. Steps and rows are static.
            state: `(output, cell)` that the rows continue from.

        Returns:
            Outputs `(steps · rows, projection_dim)` and the state.
        """
        weights = Weights(
            self._as(self.kernel, self.compute_dtype),
            plain(self._as(self.recurrent_kernel, self.compute_dtype)),
            self._gate_biases(),
            plain(self._as(self.projection_kernel, self.compute_dtype)),
        )
        output, cell = state
        outputs, state = over_full_rows(
            tf.cast(x, self.compute_dtype),
            tf.cast(continuing, self.cell_dtype),
            weights,
            state=State(
                tf.cast(output, self.compute_dtype), tf.cast(cell, self.cell_dtype)
            ),
            clips=Clips(self.cell_clip, self.proj_clip),
        )
        return outputs, tuple(state)

    def call_runs(self, x, runs, state):
        """Runs the layer in compiled functions, without a gradient.

        Args:
            x: float tensor `(tokens, dim)`, packed.
            runs: `row_runs.Runs`.
            state: `(output, cell)`, with the rows of the first step, or those of the
                first run if it comes first.

        Returns:
            Outputs `(tokens, projection_dim)`.
        """
        if runs.kind.larger_first:
            _, step, _, token, _ = tf.unstack(runs.table[0])
            larger, state = self.call_packed(x[:token], runs.sizes[:step], state)
        weights = Weights(
            self._as(self.kernel, self.compute_dtype),
            self._as(self.recurrent_kernel, self.compute_dtype)[0, 0],
            self._gate_biases(),
            self._as(self.projection_kernel, self.compute_dtype)[0, 0],
        )
        output, cell = state
        state = State(
            tf.cast(output, self.compute_dtype), tf.cast(cell, self.cell_dtype)
        )
        run = runs_graph(
            x.shape[-1],
            self.units,
            self.projection_dim,
            compute_dtype=self.compute_dtype,
            clips=Clips(self.cell_clip, self.proj_clip),
            kind=runs.kind,
        )
        outputs = run(tf.cast(x, self.compute_dtype), runs.tensors, (weights, state))
        return tf.concat([larger, outputs], 0) if runs.kind.larger_first else outputs

    @property
    def can_run_compiled(self):
        """Whether `call_runs` is possible: the matrices are in one panel."""
        kernels = self.recurrent_kernel, self.projection_kernel
        return all(tuple(kernel.shape[:2]) == (1, 1) for kernel in kernels)

    def _gate_biases(self):
        # The published bias lacks the forget gate's 1.0: TF 1 added it at run time.
        bias = self._as(self.bias, self.cell_dtype)
        forget = tf.constant([0.0, 0.0, self.forget_bias, 0.0], bias.dtype)
        return tf.reshape(tf.reshape(bias, [4, -1]) + forget[:, None], [-1])

    def _as(self, variable, dtype):
        return tf.cast(tf.convert_to_tensor(variable), dtype)

    @property
    def cell_dtype(self):
        """The dtype of the cell state."""
        return cell_dtype(self.compute_dtype)

    def zero_state(self, batch_size):
        """A state `(output, cell)` of zeros."""
        return (
            tf.zeros((batch_size, self.projection_dim), self.compute_dtype),
            tf.zeros((batch_size, self.units), self.cell_dtype),
        )

    def compute_mask(self, inputs, mask=None):
        return (mask, None) if self.return_state else mask

    def compute_output_shape(self, input_shape):
        output = (*input_shape[:2], self.projection_dim)
        state = (input_shape[0], self.projection_dim), (input_shape[0], self.units)
        return (output, state) if self.return_state else output

    def get_config(self):
        return super().get_config() | {
            "units": self.units,
            "projection_dim": self.projection_dim,
            "cell_clip": self.cell_clip,
            "proj_clip": self.proj_clip,
            "forget_bias": self.forget_bias,
            "reverse": self.reverse,
            "return_state": self.return_state,
        }


@functools.cache
def recurrence_graph(dim, units, projection_dim, *, compute_dtype, clips, keep):
    """The recurrence as a graph, one for all layers of these sizes.

    In eager mode it is traced once and runs fast; within another graph it is inlined.

    Args:
        dim, units, projection_dim, compute_dtype, clips: as in the layer.
        keep: whether to keep the activations that the gradient needs, 5 · units
            numbers per token. Otherwise the gradient is the same, but it runs the
            recurrence once more, and memory is bounded if there is no gradient.
    """

    def spec(*shape, dtype=compute_dtype):
        return tf.TensorSpec(shape, dtype)

    cell = cell_dtype(compute_dtype)
    weights = Weights(
        spec(dim, 4 * units),
        spec(*panel_shape(projection_dim, 4 * units)),
        spec(4 * units, dtype=cell),
        spec(*panel_shape(units, projection_dim)),
    )
    state = State(spec(None, projection_dim), spec(None, units, dtype=cell))
    return tf.function(
        functools.partial(_with_gradient, clips=clips, keep=keep),
        input_signature=[spec(None, dim), spec(None, dtype="int32"), (weights, state)],
        autograph=False,
    )


def _with_gradient(x, sizes, weights_and_state, *, clips, keep):
    @tf.custom_gradient
    def run(x, *flat):
        weights, state = Weights(*flat[:4]), State(*flat[4:])
        forward = functools.partial(
            recurrence.forward, x, sizes, weights, state=state, clips=clips
        )
        outputs, last, kept = forward(keep_activations=keep)

        def gradient(d_outputs, *d_last):
            return backward(
                x,
                sizes,
                weights,
                state=state,
                clips=clips,
                outputs=outputs,
                activations=kept or forward(keep_activations=True)[2],
                upstream=(d_outputs, State(*d_last)),
            )

        return (outputs, *last), gradient

    outputs, *last = run(x, *tf.nest.flatten(weights_and_state))
    return outputs, State(*last)
