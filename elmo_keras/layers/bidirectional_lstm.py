"""LSTMs of several layers, in one direction and in both."""

import functools

import keras
import tensorflow as tf
from keras import ops

from elmo_keras.argument_checks import check_counts, check_numbers
from elmo_keras.layers.packing import over_real_tokens, pack_sentences
from elmo_keras.layers.projected_lstm import ProjectedLSTM


@keras.saving.register_keras_serializable("elmo_keras")
class StackedLSTM(keras.layers.Layer):
    """`ProjectedLSTM` layers in one direction; the outputs of all are returned.

    With skip connections a layer's input is added to its output, from the second
    layer on; the state holds the output without the input.

    Args:
        n_layers: number of layers.
        units, projection_dim, cell_clip, proj_clip: as in `ProjectedLSTM`.
        forget_bias, reverse, return_state: as in `ProjectedLSTM`.
        use_skip_connections: whether the layers have skip connections.
        dropout: rate of the dropout on the input of each layer and on the
            output of the last one.

    Call arguments:
        initial_state: a pair `(output, cell)` for each layer; zeros if None.
        inputs, mask, training: as in `ProjectedLSTM`.

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
        n_layers: int,
        units: int,
        projection_dim: int | None,
        *,
        cell_clip: float | None = 3.0,
        proj_clip: float | None = 3.0,
        forget_bias: float = 1.0,
        use_skip_connections: bool = True,
        dropout: float = 0.0,
        reverse: bool = False,
        return_state: bool = False,
        **kwargs,
    ):
        check_counts(1, 100, n_layers=n_layers)
        check_numbers(0, 1, dropout=dropout)
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
            dim = lstm.output_dim

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
        """Outputs and states of packed tokens; `seed` determines the dropout."""
        calls = [
            functools.partial(lstm.call_packed, sizes=sizes, training=training)
            for lstm in self.lstms
        ]
        return self._through_layers(calls, x, state, training, seed)

    def call_rows(self, x, continuing, state, *, seed=None):
        """As `call_packed`, for rows with a token at every step, in training."""
        calls = [
            functools.partial(lstm.call_rows, continuing=continuing)
            for lstm in self.lstms
        ]
        return self._through_layers(calls, x, state, True, seed)

    def _through_layers(self, calls, x, states, training, seed):
        outputs, last = [], []
        for i, (call, state) in enumerate(zip(calls, states)):
            x = self._drop(x, i, training, seed)
            y, state = call(x, state=state)
            x = x + y if self.use_skip_connections and i > 0 else y
            outputs.append(x)
            last.append(state)
        outputs[-1] = self._drop(x, self.n_layers, training, seed)
        return outputs, last

    def _drop(self, x, index: int, training, seed):
        if seed is None or not training:
            return self.dropouts[index](x, training=training)
        # With `fold_in` a GPU would compute the seed, and the host would wait.
        seed = seed * [1, self.n_layers + 1] + [0, index]
        return tf.nn.experimental.stateless_dropout(x, self.dropout, seed)

    def zero_state(self, batch_size):
        """A pair `(output, cell)` of zeros for each layer."""
        return [lstm.zero_state(batch_size) for lstm in self.lstms]

    def compute_mask(self, inputs, mask=None):
        return [mask] * self.n_layers

    def compute_output_shape(self, input_shape):
        batch = input_shape[0]
        dim = self.lstms[0].output_dim
        outputs = [(*input_shape[:2], dim)] * self.n_layers
        state = [((batch, dim), (batch, self.units))] * self.n_layers
        return (outputs, state) if self.return_state else outputs

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


@keras.saving.register_keras_serializable("elmo_keras")
class BidirectionalLSTM(keras.layers.Layer):
    """A forward and a backward `StackedLSTM`, concatenated layer by layer.

    Each direction runs on its own: no layer sees the other direction. The backward
    LSTM reads each row from its own last real token to its first.

    Args:
        n_layers, units, projection_dim, cell_clip, proj_clip: as in `StackedLSTM`.
        forget_bias, use_skip_connections, dropout, return_state: as in `StackedLSTM`.

    Call arguments:
        initial_state: a pair of states, forward and backward, as `StackedLSTM`
            takes them; zeros if None.
        inputs, mask, training: as in `ProjectedLSTM`.

    Output: a list of `n_layers` tensors `(batch, time, 2 · projection_dim)`,
    forward half first, 0 where the mask is false; with `return_state` a pair of
    this list and the two states.

    Example:

    >>> lstm = BidirectionalLSTM(n_layers=2, units=8, projection_dim=3)
    >>> [x.shape for x in lstm(keras.ops.ones((2, 5, 3)))]
    [TensorShape([2, 5, 6]), TensorShape([2, 5, 6])]

    Reference: Peters et al. 2018, section 3.1.
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
        super().__init__(autocast=False, **kwargs)  # the state keeps its dtype
        self.supports_masking = True
        self.return_state = return_state
        self.forward, self.backward = (
            StackedLSTM(
                n_layers,
                units,
                projection_dim,
                cell_clip=cell_clip,
                proj_clip=proj_clip,
                forget_bias=forget_bias,
                use_skip_connections=use_skip_connections,
                dropout=dropout,
                reverse=reverse,
                return_state=True,
                name="backward" if reverse else "forward",
                dtype=self.dtype_policy,
            )
            for reverse in (False, True)
        )

    def build(self, input_shape):
        self.forward.build(input_shape)
        self.backward.build(input_shape)

    def call(self, inputs, mask=None, initial_state=None, training=False):
        states = initial_state
        if states is None:
            states = self.zero_state(tf.shape(inputs)[0])
        (ahead, ahead_state), (back, back_state) = (
            direction(inputs, mask=mask, initial_state=state, training=training)
            for direction, state in zip((self.forward, self.backward), states)
        )
        outputs = [ops.concatenate(pair, axis=-1) for pair in zip(ahead, back)]
        return (outputs, (ahead_state, back_state)) if self.return_state else outputs

    def call_sentences(self, x, lengths, *, wanted=None, training=False):
        """The layers over flat sentences `(tokens, dim)`, see `layers.flat_sentences`.

        `wanted` are the indices of the tokens whose outputs are returned, None for all.
        """
        outputs = []
        states = self.zero_state(tf.size(lengths))
        for direction, state in zip((self.forward, self.backward), states):
            packing = pack_sentences(lengths, direction.reverse)
            packed, _ = direction.call_packed(
                tf.gather(x, packing.tokens), packing.sizes, state, training=training
            )
            indices = tf.math.invert_permutation(packing.tokens)
            if wanted is not None:
                indices = tf.gather(indices, wanted)
            outputs.append([tf.gather(output, indices) for output in packed])
        return [tf.concat(pair, axis=-1) for pair in zip(*outputs)]

    def zero_state(self, batch_size):
        """A pair of states of zeros, forward and backward."""
        return [d.zero_state(batch_size) for d in (self.forward, self.backward)]

    def compute_mask(self, inputs, mask=None):
        return [mask] * self.forward.n_layers

    def compute_output_shape(self, input_shape):
        _, state = self.forward.compute_output_shape(input_shape)
        output = (*input_shape[:2], 2 * self.forward.lstms[0].output_dim)
        outputs = [output] * self.forward.n_layers
        return (outputs, (state, state)) if self.return_state else outputs

    def get_config(self):
        return super().get_config() | {
            "n_layers": self.forward.n_layers,
            "units": self.forward.units,
            "projection_dim": self.forward.projection_dim,
            "cell_clip": self.forward.cell_clip,
            "proj_clip": self.forward.proj_clip,
            "forget_bias": self.forward.forget_bias,
            "use_skip_connections": self.forward.use_skip_connections,
            "dropout": self.forward.dropout,
            "return_state": self.return_state,
        }
