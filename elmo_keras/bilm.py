"""The bidirectional language model."""

from collections.abc import Mapping

import keras
import tensorflow as tf
from keras import ops

from elmo_keras.characters import character_ids
from elmo_keras.config import ElmoConfig
from elmo_keras.layers.bidirectional_lstm import BidirectionalLSTM
from elmo_keras.layers.character_cnn import CharacterCNN
from elmo_keras.layers.token_cache import TokenCache
from elmo_keras.layers.word_softmax import WordSoftmax


@keras.saving.register_keras_serializable("elmo_keras")
class BidirectionalLanguageModel(keras.layers.Layer):
    """The biLM: token representation, LSTMs of both directions, softmax.

    Θ_x (`token_representation`) and Θ_s (`softmax`) are shared by the two
    directions, the LSTMs (`lstm.forward`, `lstm.backward`) are not.

    Args:
        config: `ElmoConfig`, or a mapping of its fields.
        vocabulary_size: number of words of the softmax; without one there is no
            softmax, and the model gives vectors only.
        dropout: rate of the dropout on the inputs of the LSTM layers and on the
            last output, in training.
        return_state: whether the LSTM state is returned as well.
        n_cached_words: how many words `cache_words` will take.

    Call arguments:
        inputs: integer character ids `(batch, time, characters)`, see
            `characters.character_ids`; `<S>` and `</S>` are not added here.
        mask: boolean tensor `(batch, time)`; if None, tokens whose character
            ids are all 0 are masked.
        initial_state: state as returned, or None for zeros. It is never kept
            from one call to the next.
        training: whether dropout is applied; see also `layers.ProjectedLSTM`.

    Output: a list of `config.n_layers + 1` tensors
    `(batch, time, 2 · projection_dim)`, 0 where masked: h_0 = [x; x], then
    h_j = [forward; backward]. With `return_state` a pair of that and the state.

    Example:

    >>> bilm = BidirectionalLanguageModel(ElmoConfig.preset("test"))
    >>> [h.shape for h in bilm(keras.ops.ones((2, 4, 9), "int32"))]
    [TensorShape([2, 4, 10]), TensorShape([2, 4, 10]), TensorShape([2, 4, 10])]

    Reference: Peters et al. 2018, section 3.1.
    """

    def __init__(
        self,
        config,
        vocabulary_size=None,
        dropout=0.0,
        return_state=False,
        n_cached_words=0,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)  # the state keeps its dtype
        self.supports_masking = True
        if isinstance(config, Mapping):
            config = ElmoConfig(**config)
        self.config = config
        self.vocabulary_size = vocabulary_size
        self.dropout = dropout
        self.return_state = return_state
        self.n_cached_words = n_cached_words
        self.token_representation = CharacterCNN(
            config.filters,
            config.projection_dim,
            config.char_embedding_dim,
            config.n_highway,
            config.activation,
            name="token_representation",
            dtype=self.dtype_policy,
        )
        self.token_cache = None
        if n_cached_words:
            self.token_cache = TokenCache(
                n_cached_words,
                config.projection_dim,
                name="token_cache",
                dtype=self.dtype_policy,
            )
        self.lstm = BidirectionalLSTM(
            config.n_layers,
            config.units,
            config.projection_dim,
            config.cell_clip,
            config.proj_clip,
            config.use_skip_connections,
            dropout,
            return_state=True,
            name="lstm",
            dtype=self.dtype_policy,
        )
        self.softmax = None
        if vocabulary_size is not None:
            self.softmax = WordSoftmax(
                vocabulary_size, name="softmax", dtype=self.dtype_policy
            )

    def build(self, input_shape=None):
        config = self.config
        self.token_representation.build((None, config.max_characters_per_token))
        if self.token_cache is not None:
            self.token_cache.build((None, config.max_characters_per_token))
        self.lstm.build((None, None, config.projection_dim))
        if self.softmax is not None:
            self.softmax.build((None, config.projection_dim))

    def call(self, inputs, mask=None, initial_state=None, training=False):
        inputs = tf.convert_to_tensor(inputs)
        if mask is None:
            mask = self.compute_token_mask(inputs)
        mask = tf.cast(mask, tf.bool)
        x = self.token_vectors(inputs, training)
        x = tf.where(mask[..., None], x, tf.zeros_like(x))
        outputs, state = self.lstm(
            x, mask=mask, initial_state=initial_state, training=training
        )
        layers = [ops.concatenate([x, x], axis=-1), *outputs]
        return (layers, state) if self.return_state else layers

    def layers_of_sentences(self, x, lengths, training=False):
        """All layers over sentences that stand one after another, without padding.

        Args:
            x: float tensor `(tokens, projection_dim)`, as `word_vectors` gives it.
            lengths: int32 `(sentences,)`, the tokens of each sentence.
            training: as in a call.

        Returns:
            A list of `config.n_layers + 1` tensors `(tokens, 2 · projection_dim)`.
        """
        hidden = self.lstm.of_sentences(x, lengths, training)
        return [tf.concat([x, x], axis=-1), *hidden]

    def word_vectors(self, words, training=False):
        """The context-independent vectors x of words, each distinct one computed once.

        Args:
            words: string tensor `(words,)`.
            training: as in a call.

        Returns:
            float tensor `(words, projection_dim)`.
        """
        distinct, index = tf.unique(words)
        ids = character_ids(distinct, self.config)
        ids.set_shape((None, self.config.max_characters_per_token))
        return tf.gather(self._vectors(ids, training), index)

    def token_vectors(self, ids, training=False):
        """The same for character ids.

        Args:
            ids: integer tensor `(..., characters)`.
            training: as in a call.

        Returns:
            float tensor `(..., projection_dim)`.
        """
        self.check_characters(ids)
        words = tf.reshape(ids, [-1, tf.shape(ids)[-1]])
        distinct, index = distinct_rows(words)
        distinct.set_shape((None, ids.shape[-1]))
        vectors = tf.gather(self._vectors(distinct, training), index)
        shape = (*ids.shape[:-1], self.config.projection_dim)
        dynamic = tf.concat([tf.shape(ids)[:-1], shape[-1:]], axis=0)
        return tf.ensure_shape(tf.reshape(vectors, dynamic), shape)

    def _vectors(self, ids, training):
        # Vectors of weights that are trained can't be kept.
        if self.token_cache is None or self.trainable:
            return self.token_representation(ids, training=training)
        vectors, known = self.token_cache(ids)
        computed = self.token_representation(tf.boolean_mask(ids, ~known))
        return tf.tensor_scatter_nd_update(vectors, tf.where(~known), computed)

    def cache_words(self, words):
        """Keeps the vectors of words, which are then looked up instead of computed.

        Looked up only while the biLM is not trainable; call it again where weights
        were changed since.

        Args:
            words: `n_cached_words` distinct words.

        Raises:
            ValueError: their number is another, or some are alike.
        """
        words = list(words)
        if len(set(words)) != self.n_cached_words or len(words) != self.n_cached_words:
            raise ValueError(
                f"`words` should be {self.n_cached_words} distinct words, as many as "
                f"`n_cached_words`. Received: {len(words)}, {len(set(words))} distinct"
            )
        if words:
            ids = character_ids(words, self.config)
            self.token_cache.fill(ids, self.token_representation(ids))

    def check_characters(self, character_ids):
        """Refuses rows of another length than the configuration's.

        Raises:
            ValueError: the last axis has another size.
        """
        expected, found = self.config.max_characters_per_token, character_ids.shape[-1]
        if found not in (expected, None):
            raise ValueError(
                f"Character ids should come in rows of {expected}, the model's "
                f"`max_characters_per_token`. Received: shape {character_ids.shape}"
            )

    def compute_token_mask(self, inputs):
        """True for the tokens that have a character id above 0: `(batch, time)`."""
        return ops.any(ops.not_equal(inputs, 0), axis=-1)

    def compute_mask(self, inputs, mask=None):
        if mask is None:
            mask = self.compute_token_mask(inputs)
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
            "n_cached_words": self.n_cached_words,
        }


def distinct_rows(rows):
    """The distinct rows of small non-negative integers, and where each row is.

    Args:
        rows: int32 `(rows, length)`.

    Returns:
        The distinct rows `(distinct, length)` in the order of their first
        occurrence and int32 `(rows,)`, the index of each row among them.
    """
    # TensorFlow finds distinct scalars fast, rows not, so a row becomes a string.
    # The first code points are left out: some are changed on the way.
    first = 0x100
    keys = tf.strings.unicode_encode(tf.cast(rows, tf.int32) + first, "UTF-8")
    distinct, index = tf.unique(keys)
    points = tf.strings.unicode_decode(distinct, "UTF-8")
    shape = tf.stack([tf.size(distinct), tf.shape(rows)[1]])
    return tf.reshape(points.flat_values, shape) - first, index
