"""LSTMs of several layers, in one direction and in both."""

import functools

import keras
import tensorflow as tf

from elmo_keras.base.argument_checks import check_counts, check_numbers
from elmo_keras.layers.flat_sentences import over_sentences, padded, real_tokens
from elmo_keras.layers.projected_lstm import ProjectedLSTM


class StackedLSTM(keras.layers.Layer):
    """`ProjectedLSTM` layers in one direction; the outputs and states of all are returned."""

    def __init__(self, lstms, *, use_skip_connections, dropout, reverse, **kwargs):
        super().__init__(autocast=False, **kwargs)  # the state keeps its dtype
        self.lstms = lstms
        self.use_skip_connections = use_skip_connections
        self.dropout = dropout
        self.reverse = reverse
        self.dropouts = [
            keras.layers.Dropout(dropout, name=f"dropout_{i}", dtype=self.dtype_policy)
            for i in range(len(lstms) + 1)
        ]

    def build(self, input_shape):
        dim = input_shape[-1]
        for lstm in self.lstms:
            lstm.build((None, None, dim))
            dim = lstm.output_dim

    def call_packed(self, x, sizes, state, *, training=False):
        """Outputs and states of packed tokens."""

        def call(lstm, x, state):
            return lstm.call_packed(x, sizes, state, training=training)

        drops = [functools.partial(d, training=training) for d in self.dropouts]
        return self._through_layers(call, x, state, drops)

    def call_rows(self, x, continuing, state, *, masks=None):
        """Works as `call_packed`, for rows with a token at every step, and `dropout_masks`."""

        def call(lstm, x, state):
            return lstm.call_rows(x, continuing, state)

        masks = masks or [None] * len(self.dropouts)
        drops = [functools.partial(self._drop, mask=mask) for mask in masks]
        return self._through_layers(call, x, state, drops)

    def _through_layers(self, call, x, states, drops):
        outputs, last = [], []
        for i, (lstm, state) in enumerate(zip(self.lstms, states)):
            x = drops[i](x)
            y, state = call(lstm, x, state)
            x = x + y if self.use_skip_connections and i > 0 else y
            outputs.append(x)
            last.append(state)
        outputs[-1] = drops[-1](x)
        return outputs, last

    def dropout_masks(self, n_tokens, seed):
        """Masks of the inputs of the layers and of the last output, or None.

        XLA draws other numbers, so these are drawn outside of the functions that it compiles.
        """
        if not self.dropout:
            return None
        dims = self.lstms[0].kernel.shape[0], *(lstm.output_dim for lstm in self.lstms)
        # With `fold_in` a GPU would compute the seed, and the host would wait.
        seeds = [seed * [1, len(dims)] + [0, i] for i in range(len(dims))]
        return [
            tf.random.stateless_uniform((n_tokens, dim), s, dtype=self.compute_dtype)
            >= self.dropout
            for dim, s in zip(dims, seeds)
        ]

    def _drop(self, x, mask):
        if mask is None:
            return x
        return tf.where(mask, x * (1 / (1 - self.dropout)), tf.zeros_like(x))

    def zero_state(self, batch_size):
        """A pair `(output, cell)` of zeros for each layer."""
        return [lstm.zero_state(batch_size) for lstm in self.lstms]


@keras.saving.register_keras_serializable("elmo_keras")
class BidirectionalLSTM(keras.layers.Layer):
    """A forward and a backward LSTM of several layers, concatenated layer by layer.

    Each direction runs on its own: no layer sees the other direction. The backward
    LSTM reads each row from its own last real token to its first. With skip connections
    a layer's input is added to its output, from the second layer on; the state holds the
    output without the input.

    Args:
        n_layers: number of layers.
        units, projection_dim, cell_clip, proj_clip: as in `ProjectedLSTM`.
        forget_bias, return_state: as in `ProjectedLSTM`.
        use_skip_connections: whether the layers have skip connections.
        dropout: rate of the dropout on the input of each layer and on the
            output of the last one.

    Call arguments:
        initial_state: a pair of states, forward and backward, each with a pair
            `(output, cell)` for each layer; zeros if None.
        inputs, mask, training: as in `ProjectedLSTM`.

    Output: a list of `n_layers` tensors `(batch, time, 2 · projection_dim)`,
    forward half first, 0 where the mask is false; with `return_state` a pair of
    this list and the two states.

    Example:

    >>> lstm = BidirectionalLSTM(n_layers=2, units=8, projection_dim=3)
    >>> [x.shape for x in lstm(keras.ops.ones((2, 5, 3)))]
    [TensorShape([2, 5, 6]), TensorShape([2, 5, 6])]

    Reference: Peters et al. 2018, sections 3.1 and 3.4.
    """

    def __init__(
        self,
        n_layers: int,
        units: int,
        projection_dim: int | None,
        *,
        cell_clip: float | None = 3.0,
        proj_clip: float | None = 3.0,
        forget_bias: float = 1.0,
        use_skip_connections: bool = True,
        dropout: float = 0.0,
        return_state: bool = False,
        **kwargs,
    ):
        check_counts(1, 100, n_layers=n_layers)
        check_numbers(0, 1, dropout=dropout)
        super().__init__(autocast=False, **kwargs)  # the state keeps its dtype
        self.supports_masking = True
        self.n_layers = n_layers
        self.units, self.projection_dim = units, projection_dim
        self.cell_clip, self.proj_clip = cell_clip, proj_clip
        self.forget_bias = forget_bias
        self.use_skip_connections = use_skip_connections
        self.dropout = dropout
        self.return_state = return_state
        self.forward = self._stack("forward", reverse=False)
        self.backward = self._stack("backward", reverse=True)

    def _stack(self, name, reverse):
        lstms = [
            ProjectedLSTM(
                self.units,
                self.projection_dim,
                cell_clip=self.cell_clip,
                proj_clip=self.proj_clip,
                forget_bias=self.forget_bias,
                name=f"lstm_{i}",
                dtype=self.dtype_policy,
            )
            for i in range(self.n_layers)
        ]
        return StackedLSTM(
            lstms,
            use_skip_connections=self.use_skip_connections,
            dropout=self.dropout,
            reverse=reverse,
            name=name,
            dtype=self.dtype_policy,
        )

    def build(self, input_shape):
        self.forward.build(input_shape)
        self.backward.build(input_shape)

    def call(self, inputs, mask=None, initial_state=None, training=False):
        x, lengths, mask = real_tokens(inputs, mask)
        outputs, states = self.call_sentences(
            x, lengths, states=initial_state, training=training
        )
        outputs = [padded(output, mask) for output in outputs]
        return (outputs, states) if self.return_state else outputs

    def call_sentences(self, x, lengths, *, states=None, selected=None, training=False):
        """The layers over flat sentences `(tokens, dim)`, and the states after them.

        `selected` are the indices of the tokens whose outputs are returned, None for all.
        """
        states = self.zero_state(tf.size(lengths)) if states is None else states
        (ahead, ahead_state), (back, back_state) = (
            over_sentences(
                functools.partial(direction.call_packed, training=training),
                x,
                lengths,
                state=list(state),
                reverse=direction.reverse,
                selected=selected,
            )
            for direction, state in zip((self.forward, self.backward), states)
        )
        outputs = [tf.concat(pair, axis=-1) for pair in zip(ahead, back)]
        return outputs, (ahead_state, back_state)

    def call_padded(self, x, lengths):
        """Works as `call_sentences`, for sentences (rows, time, dim) of known size.

        Outputs after the end of a sentence have no meaning. XLA can compile this method.
        """
        n_rows, time, dim = x.shape
        continuing, by_layer = tf.ones((time, n_rows, 1)), []
        for direction in (self.forward, self.backward):

            def turn(rows, reverse=direction.reverse):
                return tf.reverse_sequence(rows, lengths, 1) if reverse else rows

            steps = tf.reshape(tf.transpose(turn(x), [1, 0, 2]), [-1, dim])
            state = direction.zero_state(n_rows)
            outputs, _ = direction.call_rows(steps, continuing, state)
            outputs = [tf.reshape(h, [time, n_rows, h.shape[1]]) for h in outputs]
            by_layer.append([turn(tf.transpose(h, [1, 0, 2])) for h in outputs])
        return [tf.concat(pair, axis=-1) for pair in zip(*by_layer)]

    def zero_state(self, batch_size):
        """A pair of states of zeros, forward and backward."""
        return [d.zero_state(batch_size) for d in (self.forward, self.backward)]

    def compute_mask(self, inputs, mask=None):
        return [mask] * self.n_layers

    def compute_output_shape(self, input_shape):
        dim = self.forward.lstms[0].output_dim
        outputs = [(*input_shape[:2], 2 * dim)] * self.n_layers
        state = [((input_shape[0], dim), (input_shape[0], self.units))] * self.n_layers
        return (outputs, (state, state)) if self.return_state else outputs

    def get_config(self):
        return super().get_config() | {
            "n_layers": self.n_layers,
            "units": self.units,
            "projection_dim": self.projection_dim,
            "cell_clip": self.cell_clip,
            "proj_clip": self.proj_clip,
            "forget_bias": self.forget_bias,
            "use_skip_connections": self.use_skip_connections,
            "dropout": self.dropout,
            "return_state": self.return_state,
        }
