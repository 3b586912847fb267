"""The bidirectional language model."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from elmo_keras.config import ElmoConfig
from elmo_keras.layers.bidirectional_lstm import BidirectionalLSTM
from elmo_keras.layers.character_cnn import N_CHARACTERS, CharacterCNN
from elmo_keras.layers.flat_sentences import inner_tokens, with_boundaries
from elmo_keras.layers.loops import HOST
from elmo_keras.layers.word_softmax import WordSoftmax
from elmo_keras.text.characters import characters_of_words
from elmo_keras.text.word_ids import boundary_tokens


@keras.saving.register_keras_serializable("elmo_keras")
class BidirectionalLanguageModel(keras.layers.Layer):
    """The biLM: token representation, LSTMs of both directions, softmax.

    Θ_x (`token_representation`) and Θ_s (`softmax`) are shared by the two
    directions; the LSTMs (`lstm.forward`, `lstm.backward`) are not.

    Args:
        config: `ElmoConfig`, or a mapping of its fields.
        vocabulary_size: number of words of the softmax; None for no softmax, if
            only vectors are needed.
        dropout: rate of the dropout on the inputs of the LSTM layers and on the
            last output, in training.
        return_state: whether the LSTM state is returned as well.

    Call arguments:
        inputs: integer character ids `(batch, time, characters)`, see
            `elmo_keras.character_ids`; `<S>` and `</S>` are not added here.
        mask: boolean tensor `(batch, time)`; if None, tokens whose character
            ids are all 0 are masked.
        initial_state: a state as returned by a call, or None for zeros.
        training: whether dropout is applied; see also `layers.ProjectedLSTM`.

    Output: a list of `config.n_layers + 1` tensors
    `(batch, time, 2 · projection_dim)`, 0 where masked: h_0 = [x; x], then
    h_j = [forward; backward]. With `return_state` a pair of this list and the
    state.

    Example:

    >>> bilm = BidirectionalLanguageModel(ElmoConfig(7, 5, [(1, 2), (2, 3)]))
    >>> [h.shape for h in bilm(keras.ops.ones((2, 4, 50), "int32"))]
    [TensorShape([2, 4, 10]), TensorShape([2, 4, 10]), TensorShape([2, 4, 10])]

    Reference: Peters et al. 2018, section 3.1.
    """

    def __init__(
        self,
        config: ElmoConfig | Mapping[str, Any],
        *,
        vocabulary_size: int | None = None,
        dropout: float = 0.0,
        return_state: bool = False,
        **kwargs,
    ):
        check_process()
        super().__init__(autocast=False, **kwargs)  # the state keeps its dtype
        self.supports_masking = True
        self.config = config = ElmoConfig.from_any(config)
        self.vocabulary_size = vocabulary_size
        self.dropout = dropout
        self.return_state = return_state
        dictionary = config.dictionary
        self.token_representation = CharacterCNN(
            config.filters,
            config.projection_dim,
            config.char_embedding_dim,
            n_highway=config.n_highway,
            activation=config.activation,
            has_projection=config.has_projection,
            n_characters=dictionary.n_characters if dictionary else N_CHARACTERS,
            n_words=dictionary.n_words if dictionary else 0,
            word_dim=config.word_embedding_dim,
            name="token_representation",
            dtype=self.dtype_policy,
        )
        self.lstm = BidirectionalLSTM(
            config.n_layers,
            config.units,
            config.projection_dim if config.has_lstm_projection else None,
            cell_clip=config.cell_clip,
            proj_clip=config.proj_clip,
            forget_bias=config.forget_bias,
            use_skip_connections=config.use_skip_connections,
            dropout=self.dropout,
            return_state=True,
            name="lstm",
            dtype=self.dtype_policy,
        )
        self.softmax = None
        if self.vocabulary_size is not None:
            self.softmax = WordSoftmax(
                self.vocabulary_size, name="softmax", dtype=self.dtype_policy
            )

    def build(self, input_shape=None):
        config = self.config
        self.token_representation.build((None, config.ids_per_token))
        self.lstm.build((None, None, config.projection_dim))
        if self.softmax is not None:
            self.softmax.build((None, config.projection_dim))

    def call(self, inputs, mask=None, initial_state=None, training=False):
        inputs = tf.convert_to_tensor(inputs)
        if mask is None:
            mask = self.token_representation.compute_mask(inputs)
        mask = tf.cast(mask, tf.bool)  # pyright: ignore[reportArgumentType, reportCallIssue]
        x = self.token_vectors(inputs, training)
        x = tf.where(mask[..., None], x, tf.zeros_like(x))
        outputs, state = self.lstm(
            x, mask=mask, initial_state=initial_state, training=training
        )
        layers = [ops.concatenate([x, x], axis=-1), *outputs]
        return (layers, state) if self.return_state else layers

    def layers_of_sentences(
        self, tokens, lengths, *, keep_boundaries=False, training=False
    ):
        """All layers of flat sentences, with `<S>` and `</S>` put around each.

        There is no padding, see `layers.flat_sentences`.

        Args:
            tokens: words, string `(tokens,)`; character ids, integers
                `(tokens, characters)`; or vectors x, floats
                `(tokens + 2 · sentences, projection_dim)`, which include those of
                `<S>` and `</S>`.
            lengths: int32 `(sentences,)`, the number of tokens of each sentence.
            keep_boundaries: whether the result holds `<S>` and `</S>` as well.
            training: as in a call.

        Returns:
            A list of `config.n_layers + 1` tensors `(tokens, 2 · projection_dim)`.
        """
        x = tokens
        if not tokens.dtype.is_floating:
            boundaries = tf.constant(boundary_tokens(self.config))
            if tokens.dtype != tf.string:
                boundaries = characters_of_words(boundaries, self.config)
                boundaries = tf.cast(boundaries, tokens.dtype)
            tokens = with_boundaries(tokens, lengths, boundaries)
            x = self.token_vectors(tokens, training)
        rows = None if keep_boundaries else inner_tokens(lengths)
        h0 = x if keep_boundaries else tf.gather(x, rows)
        hidden, _ = self.lstm.call_sentences(
            x, lengths + 2, selected=rows, training=training
        )
        return [tf.concat([h0, h0], axis=-1), *hidden]

    def top_layer(
        self, tokens: Sequence[bytes], lengths: np.ndarray
    ) -> list[np.ndarray]:
        """Both directions of the last layer of flat sentences, with `<S>` and `</S>`.

        Each is float32 `(tokens + 2 · sentences, projection_dim)`.
        """
        check_process()
        words = tf.constant(tokens, tf.string)
        directions = _top_layer(self, words, tf.constant(lengths, tf.int32))
        return [vectors.numpy() for vectors in directions]

    def token_vectors(self, tokens, training=False):
        """The context-independent vectors x of tokens, computed once for each word.

        Args:
            tokens: words, string `(words,)`, or character ids, integers
                `(..., characters)`.

        Returns:
            float tensor `(words, projection_dim)` or `(..., projection_dim)`.
        """
        tokens = tf.convert_to_tensor(tokens)
        are_words = tokens.dtype == tf.string
        if are_words:
            distinct, index = tf.unique(tokens)
            ids = characters_of_words(distinct, self.config)
        else:
            self.check_characters(tokens)
            rows = tf.reshape(tokens, [-1, tf.shape(tokens)[-1]])
            with tf.device(HOST):
                rows = tf.cast(rows, tf.int32)
                ids, index = tf.raw_ops.UniqueV2(x=rows, axis=[0])
        ids.set_shape((None, self.config.ids_per_token))
        vectors = tf.gather(self.token_representation(ids, training=training), index)
        if are_words:
            return vectors
        dim = self.config.projection_dim
        shape = tf.concat([tf.shape(tokens)[:-1], [dim]], axis=0)
        return tf.ensure_shape(tf.reshape(vectors, shape), (*tokens.shape[:-1], dim))

    def check_characters(self, character_ids):
        """Raises a ValueError if rows of character ids have another length."""
        expected = self.config.ids_per_token
        if character_ids.shape[-1] not in (expected, None):
            sizes = "`max_characters_per_token`"
            if self.config.word_embedding_dim:
                sizes += " + 1"
            raise ValueError(
                f"Character ids should come in rows of {expected}, the model's {sizes}. "
                f"Received: shape {character_ids.shape}"
            )

    def digest(self) -> str:
        """SHA-256 of the configuration and the weights."""
        digest = hashlib.sha256(json.dumps(self.config.to_dict()).encode())
        for weight in self.weights:
            digest.update(weight.numpy().tobytes())
        return digest.hexdigest()

    def compute_mask(self, inputs, mask=None):
        if mask is None:
            mask = self.token_representation.compute_mask(inputs)
        return [mask] * (self.config.n_layers + 1)

    def compute_output_shape(self, input_shape):
        config = self.config
        inner = (*input_shape[:2], config.projection_dim)
        outputs, state = self.lstm.compute_output_shape(inner)
        layers = [(*input_shape[:2], 2 * config.projection_dim), *outputs]
        return (layers, state) if self.return_state else layers

    def get_config(self):
        return super().get_config() | {
            "config": self.config.to_dict(),
            "vocabulary_size": self.vocabulary_size,
            "dropout": self.dropout,
            "return_state": self.return_state,
        }


@tf.function(autograph=False, reduce_retracing=True)
def _top_layer(bilm, tokens, lengths):
    layers = bilm.layers_of_sentences(tokens, lengths, keep_boundaries=True)
    return tf.split(tf.cast(layers[-1], tf.float32), 2, axis=-1)


_computing_process: int | None = None  # its id; a fork keeps it


def check_process() -> None:
    """Refuses to compute in the fork of a process whose TensorFlow has computed."""
    global _computing_process
    _computing_process = _computing_process or os.getpid()
    if _computing_process != os.getpid():
        raise RuntimeError(
            "TensorFlow can't compute in a process that was forked after it had "
            "computed: it would wait for ever. Start processes by `spawn`, such as "
            "multiprocessing.get_context('spawn'), or use an Embedder of LiteRT."
        )
