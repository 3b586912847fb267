"""The biLSTM of the task models, the encoder of sentences that contains it, and attention."""

import functools
import types
from collections.abc import Mapping

import keras
import tensorflow as tf
from keras import ops

from elmo_keras.layers.blocked_weights import blocked
from elmo_keras.layers.flat_sentences import padded, real_tokens
from elmo_keras.layers.lstm_cell import Clips, State, Weights
from elmo_keras.layers.packing import over_sentences
from elmo_keras.layers.recurrence import over_packed
from elmo_keras.tasks.token_vectors import TokenVectors, named_weights

NEVER = -1e9  # far below any score, but finite, as its gradients must be


@keras.saving.register_keras_serializable("elmo_keras")
class FastBidirectional(keras.layers.Bidirectional):
    """Keras' `Bidirectional(LSTM(units, return_sequences=True))`, which trains faster.

    It has the weights, outputs and gradients of Keras' layer. In training on CPUs, in
    float32 and float64, both directions run at once, over real tokens only
    (`layers.recurrence`). On other devices, in half precision, outside of training and
    with an `initial_state`, Keras' layer runs: on GPUs by cuDNN, which gets no gaps and
    no rows without tokens, whatever the mask, unless there is an `initial_state`.

    Output: `(batch, time, 2 · units)`, forward half first, 0 where the mask is false.

    >>> lstm = FastBidirectional(units=3)
    >>> lstm(keras.ops.ones((2, 5, 4)), training=True).shape
    TensorShape([2, 5, 6])

    Reference: Hochreiter and Schmidhuber 1997; Gers et al. 2000.
    """

    def __init__(self, units: int, **kwargs):
        dtype = kwargs.get("dtype")
        lstm = keras.layers.LSTM(units, return_sequences=True, dtype=dtype)
        super().__init__(lstm, **kwargs)
        # While Keras loads a model, it takes two objects that had the same address, one
        # after the other, for one shared object. So the LSTM that it copied for each
        # direction stays alive; in a namespace, Keras does not track it as a layer.
        self._copied = types.SimpleNamespace(lstm=lstm)
        self.units = units

    def call(self, sequences, initial_state=None, mask=None, training=None):
        gpus, tpus = map(tf.config.list_logical_devices, ("GPU", "TPU"))
        faster_on_cpu = training and self.compute_dtype in ("float32", "float64")
        if initial_state is not None or tpus or not (gpus or faster_on_cpu):
            return super().call(
                sequences, initial_state=initial_state, mask=mask, training=training
            )
        x, lengths, mask = real_tokens(sequences, mask)
        if gpus:
            return padded(self._run_right_padded(x, lengths, training), mask)
        outputs = [
            _run_over_sentences(x, lengths, direction)
            for direction in (self.forward_layer, self.backward_layer)
        ]
        return padded(tf.concat(outputs, axis=1), mask)

    def _run_right_padded(self, x, lengths, training):
        """The outputs of Keras' layer over flat sentences.

        cuDNN fails on gaps, on rows without tokens and without any row: the tokens of a
        sentence stand together, there is a row more, and no row is empty.
        """
        lengths = tf.pad(lengths, [[0, 1]])
        at_least_one = tf.maximum(lengths, 1)
        real = tf.sequence_mask(lengths, tf.reduce_max(at_least_one))
        outputs = super().call(
            padded(x, real), mask=tf.sequence_mask(at_least_one), training=training
        )
        return tf.gather_nd(outputs, tf.where(real))  # pyright: ignore[reportArgumentType]

    def named_weights(self) -> dict[str, keras.Variable]:
        return named_weights(forward=self.forward_layer, backward=self.backward_layer)

    def get_config(self):
        return keras.layers.Layer.get_config(self) | {"units": self.units}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


def _run_over_sentences(x, lengths, lstm):
    """The outputs of Keras' LSTM over flat sentences, see `layers.flat_sentences`."""
    cell = lstm.cell
    kernel, recurrent_kernel, bias = map(
        _reorder_gates, (cell.kernel, cell.recurrent_kernel, cell.bias)
    )
    zeros = tf.zeros((tf.size(lengths), cell.units), x.dtype)
    run = functools.partial(
        over_packed,
        weights=Weights(kernel, blocked(recurrent_kernel), bias),
        clips=Clips(None, None),
        keep=True,
    )
    state, reverse = State(zeros, zeros), lstm.go_backwards
    return over_sentences(run, x, lengths, state=state, reverse=reverse)[0]


def _reorder_gates(weight):
    """Keras has the gates in the order i, f, j, o."""
    i, f, j, o = tf.split(tf.convert_to_tensor(weight), 4, axis=-1)
    return tf.concat([i, j, f, o], axis=-1)


@keras.saving.register_keras_serializable("elmo_keras")
class SentenceEncoder(keras.layers.Layer):
    """`[h_k; ELMo_k]`, where h is a biLSTM's output with dropout, and the mask of real tokens.

    `layers` are the biLM's or None, see `TokenVectors`; the output is 0 at padding.

    Reference: Peters et al. 2018, section 3.3.
    """

    def __init__(
        self,
        token_vectors: TokenVectors,
        units: int = 100,
        dropout: float = 0.2,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_jit = False  # XLA has no strings
        self.token_vectors = token_vectors
        self.units = units
        self.lstm = FastBidirectional(units, name="lstm")
        self.dropout = keras.layers.Dropout(dropout, name="dropout")

    @property
    def output_dim(self) -> int:
        return 2 * self.units + self.token_vectors.output_dim

    def build(self, input_shape=None):
        self.token_vectors.build()
        self.lstm.build((None, None, self.token_vectors.input_dim))

    def call(self, tokens, layers=None, training=False):
        x, at_output, mask = self.token_vectors(tokens, layers, training=training)
        h = self.dropout(self.lstm(x, mask=mask, training=training), training=training)
        if at_output is not None:
            h = tf.concat([h, at_output], axis=-1)
        return ops.where(mask[..., None], h, 0), mask

    def named_weights(self) -> dict[str, keras.Variable]:
        return self.token_vectors.named_weights() | self.lstm.named_weights()


def stacked_pair(
    inputs: Mapping[str, tf.Tensor], first: str, second: str
) -> tuple[tf.Tensor, tf.Tensor | None]:
    """Tokens `(2 · batch, time)` of both texts, and layers or None, for one encoder's run."""
    tokens = [inputs[first], inputs[second]]
    time = tf.maximum(tf.shape(tokens[0])[1], tf.shape(tokens[1])[1])
    stacked = tf.concat([_pad(t, time, axis=1) for t in tokens], axis=0)
    layers = [inputs.get(f"{field}_layers") for field in (first, second)]
    if layers[0] is None:
        return stacked, None
    return stacked, tf.concat([_pad(x, time, axis=2) for x in layers], axis=0)


def _pad(x, size, axis):
    missing = size - tf.shape(x)[axis]
    paddings = [[0, missing if i == axis else 0] for i in range(x.shape.rank)]
    return tf.pad(x, paddings, constant_values="" if x.dtype == tf.string else 0)


def masked_softmax(scores, mask) -> tf.Tensor:
    """Softmax over the last axis, among the positions where the mask is true; 0 elsewhere."""
    # Keras' softmax warns if the axis has size 1.
    mask = tf.cast(mask, tf.bool)
    return tf.where(mask, tf.nn.softmax(tf.where(mask, scores, NEVER), axis=-1), 0)


def soft_alignment(queries, keys, keys_mask):
    """For each query, the mean of the real keys weighted by `softmax(query · key)`.

    It is 0 where no key is real: `(batch, time, dim)`.
    """
    scores = ops.matmul(queries, ops.transpose(keys, (0, 2, 1)))
    return ops.matmul(masked_softmax(scores, keys_mask[:, None, :]), keys)
