"""ELMo as a layer of a Keras model."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from elmo_keras.base.argument_checks import check_counts, check_numbers
from elmo_keras.bilm import BidirectionalLanguageModel, check_process
from elmo_keras.config import ElmoConfig
from elmo_keras.formats.model_directory import find_model
from elmo_keras.formats.model_files import ModelFiles
from elmo_keras.layers.blocked_weights import values_read_later
from elmo_keras.layers.flat_sentences import padded
from elmo_keras.layers.scalar_mix import ScalarMix
from elmo_keras.mirrored_strategy import warn_of_replicas
from elmo_keras.text.tokens import (
    dense_tokens,
    is_placeholder,
    kind_and_rank,
    last_position,
    received,
    refuse_padding_before,
    string_tensor,
)


@keras.saving.register_keras_serializable("elmo_keras")
class Elmo(keras.layers.Layer):
    """ELMo vectors of sentences: `γ Σ_j s_j h_j` over the layers of a biLM.

    No state is kept: a sentence has the same vectors alone and in any batch, up to
    rounding. Long lists of numbers, or of one word, amplify rounding; `Embedder` by
    LiteRT has the same bits in any batch.
    `<S>` and `</S>` are put around each sentence before the biLM reads it.

    The first call outside of a graph traces one for about a second; none does after
    `tf.config.run_functions_eagerly(True)`.

    Args:
        config: `ElmoConfig` of the biLM, or a mapping of its fields. The weights
            are random; `Elmo.from_pretrained` reads trained ones.
        layers: `"mix"` (learned with the task), `"average"`, `"top"` or the index of
            one layer, see `layers.ScalarMix`; or `"all"`, each layer on its own.
        mix: initial weights of the layers before the softmax, one for each; equal
            weights if None.
        gamma: initial value of γ.
        num_representations: number of outputs, each with its own mix.
        dropout: rate of the dropout on the output, in training.
        l2: the paper's λ, the weight of ‖w‖² in the loss: about 1 pulls the mix
            towards the plain average of the layers, 0.001 lets the weights vary.
        layer_norm: whether each layer is normalised before the mix.
        trainable_bilm: whether the biLM is trained as well. A frozen biLM stays
            frozen even if `trainable` is set on a model that contains the layer.
        keep_sentence_boundaries: whether the output is longer by `<S>` and `</S>`.

    Call arguments:
        inputs: tokens, a string tensor `(batch, time)` padded with `""` after each
            sentence, a RaggedTensor, or (outside of a functional model) lists or an
            array of `str`, which are not split at spaces. Or character ids, an integer
            tensor `(batch, time, characters)` as `elmo_keras.character_ids` returns
            them, all 0 at padding. Or layers, a float tensor `(batch, num_layers + 1,
            time, 2 · projection_dim)` as the method `all_layers` returned them, to be
            mixed.
        training: whether dropout is applied.

    Output: `(batch, time, 2 · projection_dim)`, 0 at padding, or a list of
    `num_representations` such tensors. The mask is passed on. With `layers="all"`
    `(batch, num_layers + 1, time, 2 · projection_dim)`, without a mask.

    Raises:
        ValueError: an argument is out of range, the shape of the inputs does not fit
            their dtype, or layers are passed while the biLM is trained.

    Example:

    >>> elmo = Elmo(ElmoConfig(7, 5, [(1, 2), (2, 3)]))
    >>> elmo([["A", "short", "one", "."], ["Two", "words"]]).shape
    TensorShape([2, 4, 10])

    Reference: Peters et al. 2018, sections 3.2 and 3.3.
    """

    def __init__(
        self,
        config: ElmoConfig | Mapping[str, Any],
        *,
        layers: str | int = "mix",
        mix: Sequence[float] | None = None,
        gamma: float = 1.0,
        num_representations: int = 1,
        dropout: float = 0.0,
        l2: float = 0.0,
        layer_norm: bool = False,
        trainable_bilm: bool = False,
        keep_sentence_boundaries: bool = False,
        **kwargs,
    ):
        check_counts(1, 100, num_representations=num_representations)
        check_numbers(0, 1, dropout=dropout)
        check_numbers(0, l2=l2)
        has_mix = mix is not None or gamma != 1 or l2 or layer_norm
        if layers == "all" and (has_mix or num_representations != 1):
            raise ValueError(
                "`layers='all'` has no mix. Leave out `mix`, `gamma`, `l2`, "
                "`layer_norm` and `num_representations`."
            )
        super().__init__(**kwargs)
        self.supports_masking = True
        self.supports_jit = False  # XLA has no strings
        self.config = ElmoConfig.from_any(config)
        self.num_representations = num_representations
        self.layer_choice = layers
        self.dropout = dropout
        self.l2 = l2
        self.layer_norm = layer_norm
        self.keep_sentence_boundaries = keep_sentence_boundaries
        self.bilm = BidirectionalLanguageModel(
            self.config, name="bilm", dtype=self.dtype_policy
        )
        self.trainable_bilm = trainable_bilm
        # Graphs also for eager calls: their vectors have the same last digits.
        self._word_graph = self._graph(tf.TensorSpec((None,), tf.string))
        ids = tf.TensorSpec((None, self.config.ids_per_token), tf.int32)
        self._id_graph = self._graph(ids)
        self.mixes = [
            ScalarMix(
                layers,
                mix=mix,
                gamma=gamma,
                layer_norm=layer_norm,
                regularizer=keras.regularizers.L2(l2) if l2 else None,
                name=f"mix_{i}",
                dtype=self.dtype_policy,
            )
            for i in range(0 if layers == "all" else num_representations)
        ]
        self.initial_mix = None if mix is None else [float(w) for w in mix]
        self.initial_gamma = float(gamma)
        self.dropouts = [
            keras.layers.Dropout(dropout, name=f"dropout_{i}", dtype=self.dtype_policy)
            for i in range(num_representations)
        ]

    def _graph(self, tokens):
        function = tf.function(
            functools.partial(
                self.bilm.layers_of_sentences,
                keep_boundaries=self.keep_sentence_boundaries,
            ),
            input_signature=[tokens, tf.TensorSpec((None,), tf.int32)],
            autograph=False,
        )
        # Not the function itself, which TensorFlow would find and save with the layer.
        return functools.partial(function)

    @property
    def trainable(self):
        """Whether the mix is trained, and the biLM too if `trainable_bilm`."""
        return super().trainable

    @trainable.setter
    def trainable(self, value):
        keras.layers.Layer.trainable.fset(self, value)  # pyright: ignore[reportOptionalCall]
        self.bilm.trainable = bool(value) and self.trainable_bilm  # Keras unfroze it

    @property
    def trainable_bilm(self):
        """Whether the biLM is trained as well; recompile the model after a change."""
        return self._trainable_bilm

    @trainable_bilm.setter
    def trainable_bilm(self, value):
        self._trainable_bilm = bool(value)
        self.bilm.trainable = self.trainable and bool(value)

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path | ModelFiles,
        *,
        weights: str | Path | None = None,
        layers: str | int = "mix",
        mix: Sequence[float] | None = None,
        gamma: float | None = None,
        **kwargs,
    ) -> "Elmo":
        """An `Elmo` layer with the weights of a trained biLM.

        Args:
            model: a model directory, another published layout (see `find_model`), the
                name of a published model (`elmo-keras models` lists them) or its
                address; or what `find_model` returned. With `weights`, the path of an
                `options.json`.
            weights: the path of published HDF5 weights.
            layers: as in the layer.
            mix: as in the layer; None for the model's own mix, if it comes with one
                (`mix.json`, or that of a TF Hub module).
            gamma: initial value of γ; None for γ of the model's own mix, or 1.
            **kwargs: other arguments of the layer.

        Raises:
            FileNotFoundError: a file is missing; the message names it.
            ValueError: a file doesn't fit; the message says what was expected.
        """
        files = find_model(model, weights=weights)
        mix, gamma = files.initial_mix(layers, mix, gamma)
        with values_read_later():
            elmo = cls(files.config, layers=layers, mix=mix, gamma=gamma, **kwargs)
            elmo.build()
        files.read_into(elmo.bilm)
        return elmo

    def build(self, input_shape=None):
        self.bilm.build()
        layer = (None, None, 2 * self.config.projection_dim)
        for mix in self.mixes:
            mix.build([layer] * (self.config.n_layers + 1))
        self.bilm.trainable = self.trainable and self.trainable_bilm

    def __call__(self, inputs, *args, **kwargs):
        check_process()
        inputs = self._convert_inputs(inputs)
        warn_of_replicas(inputs)
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, training=False):
        layers, mask = self._bilm_layers(inputs, training)
        if self.layer_choice == "all":
            return self.dropouts[0](_stack(layers, mask), training=training)
        outputs = [
            padded(dropout(mix(layers), training=training), mask)
            for mix, dropout in zip(self.mixes, self.dropouts)
        ]
        return outputs[0] if self.num_representations == 1 else outputs

    def all_layers(self, inputs, training: bool = False) -> tf.Tensor:
        """All layers of the biLM, not mixed; the arguments are those of a call.

        Returns:
            `(batch, num_layers + 1, time, 2 · projection_dim)`, 0 at padding.
        """
        if not self.built:
            self.build()
        return _stack(*self._bilm_layers(self._convert_inputs(inputs), training))

    def _bilm_layers(self, inputs, training):
        """The layers at the output's real tokens (tokens, dim), and its mask."""
        inputs, mask = dense_tokens(inputs)
        if inputs.dtype.is_floating:
            layers = tf.cast(inputs, self.compute_dtype)
            return [tf.boolean_mask(h, mask) for h in tf.unstack(layers, axis=1)], mask
        tokens = tf.boolean_mask(inputs, mask)
        lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
        learns = training or self.trainable_bilm or self.bilm.trainable
        eager = tf.executing_eagerly() and not tf.distribute.has_strategy()
        compute = functools.partial(
            self.bilm.layers_of_sentences,
            keep_boundaries=self.keep_sentence_boundaries,
            training=training,
        )
        if eager and not learns:
            is_string = tokens.dtype == tf.string
            tokens = tokens if is_string else tf.cast(tokens, tf.int32)
            compute = self._word_graph if is_string else self._id_graph
        layers = compute(tokens, lengths)
        if not self.trainable_bilm:
            layers = [tf.stop_gradient(h) for h in layers]
        if self.keep_sentence_boundaries:
            mask = _add_boundaries(mask)
        return layers, mask

    def _convert_inputs(self, inputs):
        """The inputs, with lists and arrays of `str` as a tensor."""
        inputs = string_tensor(inputs)
        if is_placeholder(inputs) and inputs.shape.rank == 3:
            inputs = tf.cast(inputs, tf.int32)
        kind, rank = kind_and_rank(inputs)
        if kind is None or rank != {"string": 2, "integer": 3, "float": 4}[kind]:
            raise ValueError(
                "`inputs` should be strings (batch, time), which `elmo_keras.tokenize` "
                "makes of sentences, integer character ids (batch, time, characters) "
                "or float layers (batch, layers, time, dim). "
                f"Received: {received(inputs)}"
            )
        refuse_padding_before(inputs)
        if kind == "integer":
            self.bilm.check_characters(inputs)
        if kind == "float" and self.trainable_bilm:
            raise ValueError(
                "A trainable biLM (`trainable_bilm`) should compute its layers. "
                "Received: layers. Pass tokens."
            )
        n_layers, dim = self.config.n_layers + 1, 2 * self.config.projection_dim
        shape, layers = tf.TensorShape(inputs.shape), (None, n_layers, None, dim)
        if kind == "float" and not shape.is_compatible_with(layers):
            raise ValueError(
                f"Layers of this biLM should have the shape (batch, {n_layers}, time, "
                f"{dim}). Received: {shape}"
            )
        return inputs

    def compute_mask(self, inputs, mask=None):
        if keras.utils.is_keras_tensor(inputs) or self.layer_choice == "all":
            return None  # a functional model computes its masks when it runs
        inputs, mask = dense_tokens(inputs)
        if self.keep_sentence_boundaries and not inputs.dtype.is_floating:
            mask = _add_boundaries(mask)
        return mask if self.num_representations == 1 else [mask] * len(self.mixes)

    def compute_output_shape(self, input_shape):
        are_layers = len(input_shape) == 4
        time = input_shape[2] if are_layers else input_shape[1]
        if self.keep_sentence_boundaries and not are_layers and time is not None:
            time += 2
        shape = (input_shape[0], time, 2 * self.config.projection_dim)
        if self.layer_choice == "all":
            return (shape[0], self.config.n_layers + 1, *shape[1:])
        return shape if self.num_representations == 1 else [shape] * len(self.mixes)

    def get_config(self):
        return super().get_config() | {
            "config": self.config.to_dict(),
            "layers": self.layer_choice,
            "mix": self.initial_mix,
            "gamma": self.initial_gamma,
            "num_representations": self.num_representations,
            "dropout": self.dropout,
            "l2": self.l2,
            "layer_norm": self.layer_norm,
            "trainable_bilm": self.trainable_bilm,
            "keep_sentence_boundaries": self.keep_sentence_boundaries,
        }


def _stack(layers, mask):
    """Layers (tokens, dim) as (batch, layers, time, dim), 0 at padding."""
    return tf.stack([padded(h, mask) for h in layers], axis=1)


def _add_boundaries(mask):
    """A mask (batch, time) with `<S>` and `</S>`: (batch, time + 2)."""
    mask = tf.pad(mask, [[0, 0], [1, 1]])
    steps = tf.range(tf.shape(mask)[1])
    is_end = steps == tf.maximum(last_position(mask), 0) + 1
    return mask | (steps == 0) | is_end
