"""The encoder of all kinds, `[biLSTM; ELMo]` of each token; and attention to tokens."""

import functools

import keras
import tensorflow as tf

from elmo_keras.heads.token_vectors import TokenVectors, named_weights
from elmo_keras.layers.blocked_weights import block
from elmo_keras.layers.flat_sentences import over_sentences, padded, real_tokens
from elmo_keras.layers.lstm_cell import Clips, State, Weights
from elmo_keras.layers.recurrence import over_packed
from elmo_keras.layers.unquantized import Embedding

NEVER = -1e9  # far below any score, but finite, as its gradients must be


@keras.saving.register_keras_serializable("elmo_keras")
class FastBidirectional(keras.layers.Layer):
    """Keras' `Bidirectional(LSTM(units, return_sequences=True))`, which trains faster.

    It has the weights, outputs and gradients of Keras' layer. In training on CPUs, in
    float32 and float64, both directions run at once, over real tokens only
    (`layers.recurrence`). Otherwise Keras' LSTMs run: on GPUs by cuDNN, which gets no gaps
    and no rows without tokens, whatever the mask.

    Output: `(batch, time, 2 · units)`, forward half first, 0 where the mask is false.

    >>> lstm = FastBidirectional(units=3)
    >>> lstm(keras.ops.ones((2, 5, 4)), training=True).shape
    TensorShape([2, 5, 6])

    Reference: Hochreiter and Schmidhuber 1997; Gers et al. 2000.
    """

    parts = "forward", "backward"

    def __init__(self, units: int, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.units = units
        self.forward, self.backward = (
            keras.layers.LSTM(
                units,
                return_sequences=True,
                go_backwards=name == "backward",
                zero_output_for_mask=True,
                dtype=self.dtype_policy,
                name=name,
            )
            for name in self.parts
        )

    def build(self, input_shape):
        self.forward.build(input_shape)
        self.backward.build(input_shape)

    def call(self, x, mask=None, training=False):
        on_gpu = bool(tf.config.list_logical_devices("GPU"))
        is_fast = training and self.compute_dtype in ("float32", "float64")
        if not (on_gpu or is_fast):
            return self._run_keras(x, mask, training)
        x, lengths, mask = real_tokens(x, mask)
        if on_gpu:
            return padded(self._run_right_padded(x, lengths, training), mask)
        outputs = [
            _run_over_sentences(x, lengths, lstm)
            for lstm in (self.forward, self.backward)
        ]
        return padded(tf.concat(outputs, axis=1), mask)

    def _run_keras(self, x, mask, training):
        forward = self.forward(x, mask=mask, training=training)
        backward = self.backward(x, mask=mask, training=training)
        return tf.concat([forward, tf.reverse(backward, [1])], axis=-1)

    def _run_right_padded(self, x, lengths, training):
        """The outputs of Keras' LSTMs over flat sentences.

        cuDNN fails on gaps, on empty rows and on batches without a row. So the tokens of a
        sentence stand together, each row gets a token, and the batch one more row.
        """
        lengths = tf.pad(lengths, [[0, 1]])
        at_least_one = tf.maximum(lengths, 1)
        real = tf.sequence_mask(lengths, tf.reduce_max(at_least_one))
        mask = tf.sequence_mask(at_least_one)
        outputs = self._run_keras(padded(x, real), mask, training)
        return tf.gather_nd(outputs, tf.where(real))  # pyright: ignore[reportArgumentType]

    def get_config(self):
        return super().get_config() | {"units": self.units}


def _run_over_sentences(x, lengths, lstm):
    """The outputs of Keras' LSTM over flat sentences, see `layers.flat_sentences`."""
    cell = lstm.cell
    kernel, recurrent_kernel, bias = map(
        _reorder_gates, (cell.kernel, cell.recurrent_kernel, cell.bias)
    )
    zeros = tf.zeros((tf.size(lengths), cell.units), x.dtype)
    run = functools.partial(
        over_packed,
        weights=Weights(kernel, block(recurrent_kernel), bias),
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
class TaskEncoder(keras.layers.Layer):
    """`[h_k; ELMo_k]` of each token, where h is a biLSTM's output with dropout.

    ELMo has its own dropout, see `Elmo`.

    Args:
        token_vectors: a `TokenVectors` layer: the biLSTM's input, and ELMo at the output.
        units: size of the LSTM in each direction.
        dropout: rate of the dropout on the LSTM's output.
        predicate_dim: size of the vector that marks a predicate; 0 for none.

    Call arguments:
        tokens, layers: see `TokenVectors`.
        predicate: with `predicate_dim`, `(batch, time)`, 1 at the predicate, else 0.

    Output: the vectors `(batch, time, output_dim)`, 0 at padding; the biLSTM's inputs
    `(batch, time, input_dim)`; and the mask of real tokens, bool `(batch, time)`.

    Reference: Peters et al. 2018, section 3.3.
    """

    def __init__(
        self,
        token_vectors: TokenVectors,
        units: int = 100,
        dropout: float = 0.2,
        predicate_dim: int = 0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_jit = False  # XLA has no strings
        self.token_vectors, self.predicate_dim = token_vectors, predicate_dim
        self.units, self.dropout = units, dropout
        self.lstm = FastBidirectional(units, name="lstm")
        self.drop = keras.layers.Dropout(dropout, name="drop")
        if predicate_dim:
            self.predicate = Embedding(2, predicate_dim, name="predicate")

    @property
    def input_dim(self) -> int:
        return self.token_vectors.input_dim + self.predicate_dim

    @property
    def output_dim(self) -> int:
        return 2 * self.units + self.token_vectors.output_dim

    def build(self, input_shape=None):
        self.token_vectors.build()
        self.lstm.build((None, None, self.input_dim))
        if self.predicate_dim:
            self.predicate.build((None, None))

    def call(self, tokens, layers=None, predicate=None, training=False):
        x, at_output, mask = self.token_vectors(tokens, layers, training=training)
        if self.predicate_dim:
            x = tf.concat([x, self.predicate(predicate)], axis=-1)
        h = self.drop(self.lstm(x, mask=mask, training=training), training=training)
        if at_output is not None:
            h = tf.concat([h, at_output], axis=-1)
        return tf.where(mask[..., None], h, 0), x, mask

    def named_weights(self) -> dict[str, keras.Variable]:
        weights = self.token_vectors.named_weights()
        weights |= named_weights(self.lstm, *self.lstm.parts)
        return weights | named_weights(self, "predicate")


def masked_softmax(scores, mask) -> tf.Tensor:
    """Softmax over the last axis, among the positions where the mask is true; 0 elsewhere."""
    # Keras' softmax warns if the axis has size 1.
    mask = tf.cast(mask, tf.bool)
    return tf.where(mask, tf.nn.softmax(tf.where(mask, scores, NEVER), axis=-1), 0)


def soft_alignment(queries, keys, keys_mask) -> tf.Tensor:
    """For each query, the mean of the real keys weighted by `softmax(query · key)`.

    It is 0 where no key is real: `(batch, time, dim)`.
    """
    scores = tf.matmul(queries, keys, transpose_b=True)
    return tf.matmul(masked_softmax(scores, keys_mask[:, None, :]), keys)
