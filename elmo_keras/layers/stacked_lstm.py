"""The LSTM layers of one direction."""

import functools

import keras
import tensorflow as tf

from elmo_keras.layers.packing import over_real_tokens
from elmo_keras.layers.projected_lstm import ProjectedLSTM


@keras.saving.register_keras_serializable("elmo_keras")
class StackedLSTM(keras.layers.Layer):
    """`ProjectedLSTM` layers in one direction; the outputs of all are returned.

    With skip connections a layer's input is added to its output, from the second
    layer on; the state holds the output without the input.

    Args:
        n_layers: number of layers.
        units, projection_dim, cell_clip, proj_clip, forget_bias, reverse,
        return_state: as in `ProjectedLSTM`.
        use_skip_connections: whether the layers have skip connections.
        dropout: rate of the dropout on the input of each layer and on the
            output of the last one.

    Call arguments:
        inputs: float tensor `(batch, time, dim)`.
        mask: boolean tensor `(batch, time)`, or None for no padding.
        initial_state: a pair `(output, cell)` for each layer; zeros if None.
        training: whether dropout is applied; see also `ProjectedLSTM`.

    Output: a list of `n_layers` tensors `(batch, time, projection_dim)`, 0
    where the mask is false; with `return_state` a pair of this list and the state,
    a list with a pair `(output, cell)` for each layer.

    Example:

    >>> lstm = StackedLSTM(n_layers=2, units=8, projection_dim=3)
    >>> [x.shape for x in lstm(keras.ops.ones((2, 5, 3)))]
    [TensorShape([2, 5, 3]), TensorShape([2, 5, 3])]

    Reference: Peters et al. 2018, sections 3.1 and 3.4.
    """

    def __init__(
        self,
        n_layers,
        units,
        projection_dim,
        *,
        cell_clip=3.0,
        proj_clip=3.0,
        forget_bias=1.0,
        use_skip_connections=True,
        dropout=0.0,
        reverse=False,
        return_state=False,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)  # the state keeps its dtype
        self.supports_masking = True
        self.n_layers = n_layers
        self.units = units
        self.projection_dim = projection_dim
        self.cell_clip = cell_clip
        self.proj_clip = proj_clip
        self.forget_bias = forget_bias
        self.use_skip_connections = use_skip_connections
        self.dropout = dropout
        self.reverse = reverse
        self.return_state = return_state
        self.lstms = [
            ProjectedLSTM(
                units,
                projection_dim,
                cell_clip=cell_clip,
                proj_clip=proj_clip,
                forget_bias=forget_bias,
                name=f"lstm_{i}",
                dtype=self.dtype_policy,
            )
            for i in range(n_layers)
        ]
        self.dropouts = [
            keras.layers.Dropout(dropout, name=f"dropout_{i}", dtype=self.dtype_policy)
            for i in range(n_layers + 1)
        ]

    def build(self, input_shape):
        dim = input_shape[-1]
        for lstm in self.lstms:
            lstm.build((None, None, dim))
            dim = self.projection_dim

    def call(self, inputs, mask=None, initial_state=None, training=False):
        if initial_state is None:
            initial_state = self.zero_state(tf.shape(inputs)[0])
        outputs, state = over_real_tokens(
            functools.partial(self.call_packed, training=training),
            inputs,
            mask,
            state=list(initial_state),
            reverse=self.reverse,
        )
        return (outputs, state) if self.return_state else outputs

    def call_packed(self, x, sizes, state, *, training=False, seed=None):
        """Runs the layers over packed tokens, see `packing.Packing`.

        Args:
            x: float tensor `(tokens, dim)`.
            sizes: int32 `(steps,)`, the number of rows of each step.
            state: a pair `(output, cell)` for each layer, rows in packed order.
            training: as in a call.
            seed: int32 `(2,)`; if given, it alone determines the dropout.

        Returns:
            A list of outputs `(tokens, projection_dim)` and the state.
        """

        def layer(lstm, x, state):
            return lstm.call_packed(x, sizes, state, training=training)

        return self._through(layer, x, state, training=training, seed=seed)

    def call_rows(self, x, continuing, state, *, seed=None):
        """Runs the layers in training over rows that have a token at every step.

        Args:
            x, continuing: as in `ProjectedLSTM.call_rows`.
            state: a pair `(output, cell)` for each layer that the rows continue from.
            seed: as in `call_packed`.

        Returns:
            A list of outputs `(steps · rows, projection_dim)` and the state.
        """

        def layer(lstm, x, state):
            return lstm.call_rows(x, continuing, state)

        return self._through(layer, x, state, training=True, seed=seed)

    def call_runs(self, x, runs, state):
        """Runs the layers in compiled functions, without a gradient.

        Args:
            x, runs: as in `ProjectedLSTM.call_runs`.
            state: a pair `(output, cell)` for each layer.

        Returns:
            A list of outputs `(tokens, projection_dim)`.
        """

        def layer(lstm, x, state):
            return lstm.call_runs(x, runs, state), None

        return self._through(layer, x, state, training=False, seed=None)[0]

    def _through(self, layer, x, state, *, training, seed):
        """Outputs and state of all layers, for a function that runs one of them."""
        outputs, last = [], []
        for i, lstm in enumerate(self.lstms):
            x = self._drop(x, i, training=training, seed=seed)
            y, layer_state = layer(lstm, x, state[i])
            x = x + y if self.use_skip_connections and i > 0 else y
            outputs.append(x)
            last.append(layer_state)
        outputs[-1] = self._drop(
            outputs[-1], self.n_layers, training=training, seed=seed
        )
        return outputs, last

    def _drop(self, x, place, *, training, seed):
        if seed is None or not training:
            return self.dropouts[place](x, training=training)
        # With `fold_in` a GPU would compute the seed, and the host would wait.
        seed = seed * [1, self.n_layers + 1] + [0, place]
        return tf.nn.experimental.stateless_dropout(x, self.dropout, seed)

    def zero_state(self, batch_size):
        """A pair `(output, cell)` of zeros for each layer."""
        return [lstm.zero_state(batch_size) for lstm in self.lstms]

    def compute_mask(self, inputs, mask=None):
        return [mask] * self.n_layers

    def compute_output_shape(self, input_shape):
        outputs = [(*input_shape[:2], self.projection_dim)] * self.n_layers
        batch = input_shape[0]
        state = (batch, self.projection_dim), (batch, self.units)
        return (outputs, [state] * self.n_layers) if self.return_state else outputs

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
            "reverse": self.reverse,
            "return_state": self.return_state,
        }
