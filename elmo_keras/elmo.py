"""The layer that puts ELMo into a Keras model."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import keras
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.characters import (
    BEGIN_OF_SENTENCE_TOKEN,
    END_OF_SENTENCE_TOKEN,
    character_ids,
)
from elmo_keras.config import ElmoConfig
from elmo_keras.layers.scalar_mix import ScalarMix
from elmo_keras.model_directory import find_model
from elmo_keras.weights import read_weights


@keras.saving.register_keras_serializable("elmo_keras")
class Elmo(keras.layers.Layer):
    """ELMo vectors of sentences: `γ Σ_j s_j h_j` over the layers of a biLM.

    Stateless: the vectors of a sentence are the same alone and in any batch.
    `<S>` and `</S>` are put around each sentence for the biLM.

    Args:
        config: `ElmoConfig` of the biLM, or a mapping of its fields. The weights
            are random; `Elmo.from_pretrained` reads them.
        num_representations: number of outputs, each with a mix of its own.
        scheme: what is mixed, see `layers.ScalarMix`: `"learned"`, `"average"`
            or the index of one layer.
        dropout: rate of the dropout on the output, in training.
        l2: the paper's λ, weight of ‖w‖² in the loss: about 1 pulls towards the
            plain average of the layers, 0.001 lets them vary.
        layer_norm: whether each layer is normalised before the mix.
        trainable_bilm: whether the biLM is trained as well. A frozen one stays
            frozen, also when `trainable` of a model around it is set.
        keep_sentence_boundaries: whether the output keeps the positions of
            `<S>` and `</S>`, which makes it longer by two.
        n_cached_words: how many words have their context-independent vectors
            kept, see `BidirectionalLanguageModel.cache_words`.

    Call arguments:
        inputs: tokens, string tensor `(batch, time)` padded with `""` behind
            the last token that is not empty, or RaggedTensor, or (outside of a
            functional model) lists of `str` of any lengths; or character ids,
            integer tensor `(batch, time, characters)` as
            `characters.character_ids` gives them, all 0 where there is no token; or
            layers, float tensor `(batch, num_layers + 1, time, 2 · projection_dim)`,
            as `layers` of this biLM gave them: they are then mixed, not computed.
        training: whether dropout is applied.

    Output: `(batch, time, 2 · projection_dim)`, 0 at padding, or a list of
    `num_representations` such tensors. The mask is passed on.

    Raises:
        ValueError: an argument is out of its range, the inputs have another
            shape than their dtype asks for, or layers are given to a biLM that is
            trained.

    Example:

    >>> elmo = Elmo(ElmoConfig.preset("test"))
    >>> elmo([["A", "short", "one", "."], ["Two", "words"]]).shape
    TensorShape([2, 4, 10])

    Reference: Peters et al. 2018, sections 3.2 and 3.3.
    """

    def __init__(
        self,
        config,
        num_representations=1,
        scheme="learned",
        dropout=0.0,
        l2=0.0,
        layer_norm=False,
        trainable_bilm=False,
        keep_sentence_boundaries=False,
        n_cached_words=0,
        **kwargs,
    ):
        if num_representations < 1:
            raise ValueError(
                "`num_representations` should be 1 or more. "
                f"Received: {num_representations}"
            )
        super().__init__(**kwargs)
        self.supports_masking = True
        self.supports_jit = False  # XLA has no strings
        if isinstance(config, Mapping):
            config = ElmoConfig(**config)
        self.config = config
        self.num_representations = num_representations
        self.scheme = scheme
        self.dropout = dropout
        self.l2 = l2
        self.layer_norm = layer_norm
        self.keep_sentence_boundaries = keep_sentence_boundaries
        self.n_cached_words = n_cached_words
        self.bilm = BidirectionalLanguageModel(
            config,
            n_cached_words=n_cached_words,
            name="bilm",
            dtype=self.dtype_policy,
        )
        self.trainable_bilm = trainable_bilm
        self.mixes = [
            ScalarMix(
                scheme,
                layer_norm=layer_norm,
                regularizer=keras.regularizers.L2(l2) if l2 else None,
                name=f"mix_{i}",
                dtype=self.dtype_policy,
            )
            for i in range(num_representations)
        ]
        self.dropouts = [
            keras.layers.Dropout(dropout, name=f"dropout_{i}", dtype=self.dtype_policy)
            for i in range(num_representations)
        ]

    @property
    def trainable(self):
        """Whether the mix is trained, and with `trainable_bilm` the biLM too."""
        return super().trainable

    @trainable.setter
    def trainable(self, value):
        self._set_trainable(value)

    @property
    def trainable_bilm(self):
        """Whether the biLM is trained as well; compile the model after a change."""
        return self._trainable_bilm

    @trainable_bilm.setter
    def trainable_bilm(self, value):
        self._trainable_bilm = bool(value)
        self._set_trainable(self.trainable)

    def _set_trainable(self, value):
        keras.layers.Layer.trainable.fset(self, value)
        self.bilm.trainable = bool(value) and self.trainable_bilm

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path,
        weights: str | Path | None = None,
        cached_words: Iterable[str] = (),
        **kwargs,
    ) -> "Elmo":
        """An `Elmo` layer with the weights of a trained biLM.

        Args:
            model: a model directory (`options.json`, `weights.hdf5`), a `.zip`
                of one, or, with `weights`, the path of an `options.json`.
            weights: the path of published HDF5 weights.
            cached_words: words whose context-independent vectors are kept, such as
                the most frequent ones: of these only the LSTMs are computed, which
                gives the same vectors sooner.
            **kwargs: arguments of the layer.

        Raises:
            FileNotFoundError: a file is missing; the message names it.
            ValueError: a file doesn't fit; the message says what was expected.
        """
        files = find_model(model, weights)
        words = list(dict.fromkeys(cached_words))
        config = ElmoConfig.from_options(files.options)
        elmo = cls(config, n_cached_words=len(words), **kwargs)
        elmo.build()
        with files.open_weights() as file:
            read_weights(elmo.bilm, file)
        elmo.bilm.cache_words(words)
        return elmo

    def build(self, input_shape=None):
        config = self.config
        self.bilm.build()
        layer = (None, None, 2 * config.projection_dim)
        for mix in self.mixes:
            mix.build([layer] * (config.n_layers + 1))
        self._set_trainable(self.trainable)  # of the variables that now exist

    def __call__(self, inputs, *args, **kwargs):
        return super().__call__(_tensor(inputs), *args, **kwargs)

    def call(self, inputs, training=False):
        layers, mask = self._bilm_layers(inputs, training)
        outputs = [
            _padded(dropout(mix(layers), training=training), mask)
            for mix, dropout in zip(self.mixes, self.dropouts)
        ]
        return outputs[0] if self.num_representations == 1 else outputs

    def layers(self, inputs, training=False):
        """All layers of the biLM, before any mix.

        Args:
            inputs, training: as in a call.

        Returns:
            `(batch, num_layers + 1, time, 2 · projection_dim)`, 0 at padding.
        """
        if not self.built:
            self.build()
        layers, mask = self._bilm_layers(inputs, training)
        return tf.stack([_padded(h, mask) for h in layers], axis=1)

    def _bilm_layers(self, inputs, training):
        """The layers at the real tokens of the output, and its mask (batch, time).

        Each layer is (tokens, 2 · projection_dim), sentence after sentence: nothing
        is computed where there is no token.
        """
        inputs, mask = self._dense(inputs)
        if inputs.dtype.is_floating:
            layers = tf.cast(inputs, self.compute_dtype)
            return [tf.boolean_mask(h, mask) for h in tf.unstack(layers, axis=1)], mask
        words, lengths = self._sentences(inputs, mask)
        if words.dtype == tf.string:
            x = self.bilm.word_vectors(words, training)
        else:
            x = self.bilm.token_vectors(words, training)
        layers = self.bilm.layers_of_sentences(x, lengths, training)
        if not self.trainable_bilm:
            layers = [tf.stop_gradient(h) for h in layers]
        if self.keep_sentence_boundaries:
            return layers, _with_boundaries(mask)
        inner = _without_boundaries(lengths)
        return [tf.gather(h, inner) for h in layers], mask

    def _dense(self, inputs):
        """The inputs as a dense tensor, and which tokens are real."""
        if isinstance(inputs, tf.RaggedTensor):
            return inputs.to_tensor(), tf.sequence_mask(inputs.row_lengths())
        inputs = tf.convert_to_tensor(_tensor(inputs))
        rank = 4 if inputs.dtype.is_floating else 2 if inputs.dtype == tf.string else 3
        if inputs.shape.rank != rank:
            raise ValueError(
                "`inputs` should be strings (batch, time), integer character ids "
                "(batch, time, characters) or float layers (batch, layers, time, dim). "
                f"Received: {inputs.dtype.name} of shape {inputs.shape}"
            )
        if inputs.dtype.is_floating:
            self._check_layers(inputs)
            return inputs, _up_to_last(tf.reduce_any(inputs != 0, axis=(1, 3)))
        if inputs.dtype == tf.string:
            return inputs, token_mask(inputs)
        self.bilm.check_characters(inputs)
        return inputs, self.bilm.compute_token_mask(inputs)

    def _check_layers(self, layers):
        if self.trainable_bilm:
            raise ValueError(
                "A biLM that is trained (`trainable_bilm`) should compute its layers. "
                "Received: layers. Give it tokens."
            )
        n_layers, dim = self.config.n_layers + 1, 2 * self.config.projection_dim
        if not layers.shape.is_compatible_with((None, n_layers, None, dim)):
            raise ValueError(
                f"Layers of this biLM should have the shape (batch, {n_layers}, time, "
                f"{dim}). Received: {layers.shape}"
            )

    def _sentences(self, inputs, mask):
        """The words of all sentences between `<S>` and `</S>`, and how many each has."""
        boundaries = tf.constant([BEGIN_OF_SENTENCE_TOKEN, END_OF_SENTENCE_TOKEN])
        if inputs.dtype != tf.string:
            boundaries = tf.cast(character_ids(boundaries, self.config), inputs.dtype)
        lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
        all_words = tf.concat([boundaries, tf.boolean_mask(inputs, mask)], axis=0)
        # Where each word stands in `all_words`, whose first two are the boundaries.
        tokens = tf.RaggedTensor.from_row_lengths(
            tf.range(2, tf.reduce_sum(lengths) + 2), lengths, validate=False
        )
        begin, end = (tf.fill([tf.size(lengths), 1], i) for i in (0, 1))
        places = tf.concat([begin, tokens, end], axis=1).flat_values
        return tf.gather(all_words, places), lengths + 2

    def compute_mask(self, inputs, mask=None):
        if keras.utils.is_keras_tensor(inputs):
            return None  # a functional model computes its masks as it runs
        inputs, mask = self._dense(inputs)
        if self.keep_sentence_boundaries and not inputs.dtype.is_floating:
            mask = _with_boundaries(mask)
        return mask if self.num_representations == 1 else [mask] * len(self.mixes)

    def compute_output_shape(self, input_shape):
        are_layers = len(input_shape) == 4
        time = input_shape[2] if are_layers else input_shape[1]
        if self.keep_sentence_boundaries and not are_layers and time is not None:
            time += 2
        shape = (input_shape[0], time, 2 * self.config.projection_dim)
        return shape if self.num_representations == 1 else [shape] * len(self.mixes)

    def get_config(self):
        return super().get_config() | {
            "config": self.config.to_dict(),
            "num_representations": self.num_representations,
            "scheme": self.scheme,
            "dropout": self.dropout,
            "l2": self.l2,
            "layer_norm": self.layer_norm,
            "trainable_bilm": self.trainable_bilm,
            "keep_sentence_boundaries": self.keep_sentence_boundaries,
            "n_cached_words": self.n_cached_words,
        }


def _tensor(inputs):
    """Lists of `str` as a padded tensor; Keras would take them for many inputs."""
    if isinstance(inputs, (list, tuple)):
        return tf.ragged.constant(inputs, tf.string, ragged_rank=1).to_tensor()
    return inputs


def token_mask(tokens: tf.Tensor) -> tf.Tensor:
    """Which of the string tokens `(batch, time)` are real: up to the last not empty."""
    return _up_to_last(tokens != "")


def _up_to_last(mask):
    return _positions(mask) <= _last(mask)


def _positions(tokens):
    return tf.range(tf.shape(tokens)[1])[None, :]


def _last(mask):
    """The last true position of each row, −1 where there is none: (batch, 1)."""
    places = tf.pad(
        tf.where(mask, _positions(mask), -1), [[0, 0], [1, 0]], constant_values=-1
    )
    return tf.reduce_max(places, axis=1, keepdims=True)


def _with_boundaries(mask):
    """A mask (batch, time) with `<S>` and `</S>`: (batch, time + 2)."""
    mask = tf.pad(mask, [[0, 0], [1, 1]])
    positions = _positions(mask)
    is_end = positions == tf.maximum(_last(mask), 0) + 1
    return mask | (positions == 0) | is_end


def _without_boundaries(lengths):
    """The tokens that are neither the first nor the last of their sentence."""
    n_tokens = tf.reduce_sum(lengths)
    tokens = tf.RaggedTensor.from_row_lengths(
        tf.range(n_tokens), lengths, validate=False
    )
    return tokens[:, 1:-1].flat_values


def _padded(tokens, mask):
    """Real tokens (tokens, dim) at their places: (batch, time, dim), 0 elsewhere."""
    dim = tokens.shape[-1]
    shape = tf.concat([tf.shape(mask), [dim]], axis=0)
    padded = tf.scatter_nd(tf.cast(tf.where(mask), tf.int32), tokens, shape)
    return tf.ensure_shape(padded, (*mask.shape, dim))
