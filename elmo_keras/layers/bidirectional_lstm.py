"""The LSTMs of both directions."""

import keras
import tensorflow as tf
from keras import ops

from elmo_keras.layers.packing import pack_sentences
from elmo_keras.layers.recurrence import cell_dtype
from elmo_keras.layers.stacked_lstm import StackedLSTM


@keras.saving.register_keras_serializable("elmo_keras")
class BidirectionalLSTM(keras.layers.Layer):
    """A forward and a backward `StackedLSTM`, concatenated layer by layer.

    Each direction runs on its own: no layer sees the other direction. The backward
    LSTM reads each row from its own last real token to its first.

    Args:
        n_layers, units, projection_dim, cell_clip, proj_clip, forget_bias,
        use_skip_connections, dropout, return_state: as in `StackedLSTM`.
        has_start_state: whether the layer holds the state before the first token,
            which `assign_start_state` sets and training leaves as it is. Without it
            that state is zero.

    Call arguments:
        inputs: float tensor `(batch, time, dim)`.
        mask: boolean tensor `(batch, time)`, or None for no padding.
        initial_state: a pair of states, forward and backward, as `StackedLSTM`
            takes them; `start_state` if None.
        training: whether dropout is applied; see also `ProjectedLSTM`.

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
        n_layers,
        units,
        projection_dim,
        *,
        cell_clip=3.0,
        proj_clip=3.0,
        forget_bias=1.0,
        use_skip_connections=True,
        dropout=0.0,
        return_state=False,
        has_start_state=False,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)  # the state keeps its dtype
        self.supports_masking = True
        self.return_state = return_state
        self.has_start_state = has_start_state
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
        if self.has_start_state:
            sizes = self.forward.projection_dim, self.forward.units
            self._start = [
                self.add_weight(
                    shape=(2, self.forward.n_layers, size),
                    initializer="zeros",
                    dtype=cell_dtype(self.compute_dtype),
                    trainable=False,
                    autocast=False,
                    name=f"start_{part}",
                )
                for part, size in zip(("output", "cell"), sizes)
            ]

    def call(self, inputs, mask=None, initial_state=None, training=False):
        states = initial_state
        if states is None:
            states = self.start_state(tf.shape(inputs)[0])
        (ahead, ahead_state), (back, back_state) = (
            direction(inputs, mask=mask, initial_state=state, training=training)
            for direction, state in zip((self.forward, self.backward), states)
        )
        outputs = [ops.concatenate(pair, axis=-1) for pair in zip(ahead, back)]
        return (outputs, (ahead_state, back_state)) if self.return_state else outputs

    def of_sentences(self, x, lengths, *, wanted=None, training=False, runs=None):
        """The layers over flat sentences, see `layers.flat_sentences`.

        Args:
            x: float tensor `(tokens, dim)`.
            lengths: int32 `(sentences,)`, the number of tokens of each sentence.
            wanted: int32, the indices of the tokens whose outputs are returned;
                None for all tokens.
            training: as in a call.
            runs: the `row_runs.Runs` of the lengths, to compute in compiled functions,
                which have no gradient and no dropout.

        Returns:
            A list of `n_layers` tensors `(wanted, 2 · projection_dim)`.
        """
        outputs = []
        few = runs is not None and not runs.kind.larger_first
        states = self.start_state(runs.rows if few else tf.size(lengths))
        for direction, state in zip((self.forward, self.backward), states):
            packing = pack_sentences(lengths, direction.reverse)
            packed = tf.gather(x, packing.tokens)
            if runs is None:
                packed, _ = direction.call_packed(
                    packed, packing.sizes, state, training=training
                )
            else:
                packed = direction.call_runs(packed, runs, state)
            places = tf.math.invert_permutation(packing.tokens)
            if wanted is not None:
                places = tf.gather(places, wanted)
            outputs.append([tf.gather(output, places) for output in packed])
        return [tf.concat(pair, axis=-1) for pair in zip(*outputs)]

    def zero_state(self, batch_size):
        """A pair of states of zeros, forward and backward."""
        return [d.zero_state(batch_size) for d in (self.forward, self.backward)]

    def start_state(self, batch_size):
        """The state before the first token of each sentence, as `zero_state`."""
        if not self.has_start_state:
            return self.zero_state(batch_size)
        output, cell = (tf.convert_to_tensor(part) for part in self._start)
        output = tf.cast(output, self.compute_dtype)
        return [
            [
                tuple(tf.tile(part[None], [batch_size, 1]) for part in layer)
                for layer in zip(tf.unstack(outputs), tf.unstack(cells))
            ]
            for outputs, cells in zip(tf.unstack(output), tf.unstack(cell))
        ]

    def assign_start_state(self, output, cell):
        """Sets the state before the first token; the layer has `has_start_state`.

        Args:
            output: `(2, n_layers, projection_dim)`, forward and backward.
            cell: `(2, n_layers, units)`.

        Raises:
            ValueError: an array has another shape.
        """
        for variable, value in zip(self._start, (output, cell)):
            variable.assign(value)

    def start_values(self):
        """The arrays that `assign_start_state` takes."""
        return [keras.ops.convert_to_numpy(part) for part in self._start]

    def compute_mask(self, inputs, mask=None):
        return [mask] * self.forward.n_layers

    def compute_output_shape(self, input_shape):
        outputs, state = self.forward.compute_output_shape(input_shape)
        outputs = [(*shape[:-1], 2 * shape[-1]) for shape in outputs]
        return (outputs, (state, state)) if self.return_state else outputs

    def get_config(self):
        names = (
            "n_layers",
            "units",
            "projection_dim",
            "cell_clip",
            "proj_clip",
            "forget_bias",
            "use_skip_connections",
            "dropout",
        )
        return (
            super().get_config()
            | {name: getattr(self.forward, name) for name in names}
            | {
                "return_state": self.return_state,
                "has_start_state": self.has_start_state,
            }
        )
