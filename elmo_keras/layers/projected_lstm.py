"""One LSTM layer with projection, in one direction."""

import functools

import keras
import tensorflow as tf

from elmo_keras.base.argument_checks import check_clips, check_counts, check_numbers
from elmo_keras.base.block_shape import block_shape
from elmo_keras.layers.blocked_weights import Blocked, initial
from elmo_keras.layers.flat_sentences import over_sentences, padded, real_tokens
from elmo_keras.layers.full_rows import over_full_rows
from elmo_keras.layers.lstm_cell import Clips, State, Weights, cell_dtype
from elmo_keras.layers.recurrence import over_packed


@keras.saving.register_keras_serializable("elmo_keras")
class ProjectedLSTM(keras.layers.Layer):
    """An LSTM whose output is a clipped projection of the cell's output.

        i, j, f, o = x W + h R + b
        c' = clip(sigmoid(f + forget_bias) · c + sigmoid(i) · tanh(j))
        h' = clip((sigmoid(o) · tanh(c')) P)

    Without a projection h' is sigmoid(o) · tanh(c'), which is not clipped. Masked positions
    are not computed: their output is 0, and the state stays as it is.

    Args:
        units: size of the cell state.
        projection_dim: size of the output; None for that of the cell state, without a
            projection.
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
        training: in training dropout is applied, if there is any, and activations are
            kept for the gradient, which is faster and needs more memory.

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
        units: int,
        projection_dim: int | None,
        *,
        cell_clip: float | None = 3.0,
        proj_clip: float | None = 3.0,
        forget_bias: float = 1.0,
        reverse: bool = False,
        return_state: bool = False,
        **kwargs,
    ):
        output_dim = units if projection_dim is None else projection_dim
        check_counts(units=units, projection_dim=output_dim)
        check_clips(cell_clip=cell_clip, proj_clip=proj_clip)
        check_numbers(forget_bias=forget_bias)
        super().__init__(autocast=False, **kwargs)  # the state keeps its dtype
        self.supports_masking = True
        self.units = units
        self.projection_dim = projection_dim
        self.output_dim = output_dim
        self.cell_clip = cell_clip
        self.proj_clip = proj_clip
        self.forget_bias = forget_bias
        self.reverse = reverse
        self.return_state = return_state

    def build(self, input_shape):
        def add(name, shape, initializer, **kwargs):
            return self.add_weight(shape, initial(initializer), name=name, **kwargs)

        dim, units, width = self.output_dim, self.units, 4 * self.units
        self.kernel = add("kernel", (input_shape[-1], width), "glorot_uniform")
        shape = block_shape(dim, width)
        self.recurrent_kernel = add("recurrent_kernel", shape, Blocked())
        self.bias = add("bias", (width,), "zeros", autocast=False)
        self.projection_kernel = None
        if self.projection_dim is not None:
            shape = block_shape(units, dim)
            self.projection_kernel = add("projection_kernel", shape, Blocked())

    def call(self, inputs, mask=None, initial_state=None, training=False):
        if initial_state is None:
            initial_state = self.zero_state(tf.shape(inputs)[0])
        x, lengths, mask = real_tokens(inputs, mask)
        outputs, state = over_sentences(
            functools.partial(self.call_packed, training=training),
            x,
            lengths,
            state=list(initial_state),
            reverse=self.reverse,
        )
        outputs = padded(outputs, mask)
        return (outputs, state) if self.return_state else outputs

    def call_packed(self, x, sizes, state, *, training=False):
        """Outputs and state of packed tokens, see `over_packed`."""
        keep = bool(training and self.trainable)
        return over_packed(*self._operands(x, state), sizes=sizes, keep=keep)

    def call_rows(self, x, continuing, state):
        """Works as `call_packed`, for rows with a token at every step."""
        return over_full_rows(*self._operands(x, state), continuing=continuing)

    def _operands(self, x, state):
        def compute(tensor, dtype=self.compute_dtype):
            return tf.cast(tf.convert_to_tensor(tensor), dtype)

        output, cell = state
        wide = cell_dtype(self.compute_dtype)
        bias = compute(self.bias, wide)
        # The published bias lacks the forget gate's 1.0: TF 1 added it at run time.
        forget = tf.constant([0.0, 0.0, self.forget_bias, 0.0], bias.dtype)
        bias = tf.reshape(tf.reshape(bias, [4, -1]) + forget[:, None], [-1])
        weights = compute(self.kernel), compute(self.recurrent_kernel), bias
        clips = Clips(self.cell_clip, None)
        if self.projection_kernel is not None:
            weights += (compute(self.projection_kernel),)
            clips = Clips(self.cell_clip, self.proj_clip)
        state = State(compute(output), compute(cell, wide))
        return compute(x), Weights(*weights), state, clips

    def zero_state(self, batch_size):
        output = tf.zeros((batch_size, self.output_dim), self.compute_dtype)
        cell = tf.zeros((batch_size, self.units), cell_dtype(self.compute_dtype))
        return output, cell

    def compute_mask(self, inputs, mask=None):
        return (mask, None) if self.return_state else mask

    def compute_output_shape(self, input_shape):
        output = (*input_shape[:2], self.output_dim)
        state = (input_shape[0], self.output_dim), (input_shape[0], self.units)
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
