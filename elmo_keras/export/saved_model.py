"""A language model and a mix as an object for `tf.saved_model.save`."""

from collections.abc import Callable, Mapping

import keras
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.elmo import Elmo
from elmo_keras.export.sentences import (
    columns_with_rows,
    first_tokens,
    longest,
    sentences_spec,
    tokens_specs,
)
from elmo_keras.layers import ScalarMix
from elmo_keras.layers.flat_sentences import means, padded


class Vectors:
    """The outputs of the export: all layers of a biLM, their mix and its mean.

    If the biLM is not trainable, no gradient reaches it. The call takes ragged tokens
    and T, the length of the outputs, at least that of the longest sentence. It returns
    float32 tensors, 0 after the end of a sentence, for L LSTM layers and
    P = `projection_dim`:

        word_emb          (batch, T, P)
        lstm_outputs1…L   (batch, T, 2P)
        layers            (batch, L + 1, T, 2P)
        elmo              (batch, T, 2P), the mix
        default           (batch, 2P), mean of `elmo` over a sentence's tokens
        sequence_len      int32 (batch,)
    """

    def __init__(
        self, bilm: BidirectionalLanguageModel, mix: ScalarMix, dropout: float = 0.0
    ):
        self.bilm, self.mix, self.dropout = bilm, mix, dropout

    def __call__(self, tokens, time, training=False):
        lengths = tf.cast(tokens.row_lengths(), tf.int32)
        # Up to the outputs everything is (tokens, …), see `layers.flat_sentences`.
        layers = self.bilm.layers_of_sentences(
            tokens.flat_values, lengths, training=training
        )
        layers = [tf.cast(h, tf.float32) for h in layers]
        if not self.bilm.trainable:
            layers = [tf.stop_gradient(h) for h in layers]
        elmo = self.mix(layers)
        if training and self.dropout:
            elmo = tf.nn.dropout(elmo, self.dropout)
        x = layers[0][:, : self.bilm.config.projection_dim]  # layer 0 is [x; x]
        mask = tf.sequence_mask(lengths, time)
        outputs = [padded(h, mask) for h in layers]
        return {
            "word_emb": padded(x, mask),
            **{f"lstm_outputs{i}": h for i, h in enumerate(outputs[1:], 1)},
            "layers": tf.stack(outputs, axis=1),
            "elmo": padded(elmo, mask),
            "default": means(elmo, lengths),
            "sequence_len": lengths,
        }


def make_saved_model(
    elmo: Elmo,
    split: Callable,
    *,
    representation: int,
    trainable: str,
    arithmetic: str,
    as_dict: bool,
    input_name: str,
) -> tuple[tf.train.Checkpoint, dict, ScalarMix]:
    """The object to save with the weights of an `Elmo` layer, its signatures, its mix.

    The object is a Reusable SavedModel, which is called as `hub.Module` was:
    `root(inputs, training=False, as_dict=…, signature=None)` returns the output
    `default`, `(batch, 2P)`, or with `as_dict=True` all outputs of `Vectors`. `inputs`
    are those of a signature: sentences `(batch,)`, or a dict of `tokens` and
    `sequence_len`. Without training, `signature` may name it: `"default"`, `"tokens"`.
    `root.sequence_len(sentences)` returns the number of tokens of each sentence.
    """
    bilm = copy_layer(elmo.bilm, trainable == "all", arithmetic)
    mix = copy_layer(elmo.mixes[representation], trainable != "nothing", "float32")
    root = tf.train.Checkpoint()
    root.__call__ = trace_call(Vectors(bilm, mix, elmo.dropout), split, as_dict)
    root.sequence_len = tf.function(
        lambda sentences: tf.cast(split(sentences).row_lengths(), tf.int32),
        input_signature=[sentences_spec()],
        autograph=False,
    )
    root.variables = [v.value for v in (*bilm.weights, *mix.weights)]
    root.trainable_variables = [v for v in root.variables if v.trainable]
    root.regularization_losses = []
    if mix.regularizer is not None and mix.layer_choice == "mix":
        scalars = mix.scalars.value
        loss = tf.function(lambda: mix.regularizer(scalars), input_signature=[])
        root.regularization_losses = [loss]
    served_mix = mix
    if trainable == "mix":
        # A `TFSMLayer` of a signature takes all its variables, and Adam refuses the
        # names of those that are trained: "mix_0_gamma:0" is no name of a scope.
        served_mix = copy_layer(mix, False, "float32")
        root.signature_variables = [v.value for v in served_mix.weights]
    return root, trace_signatures(Vectors(bilm, served_mix), split, input_name), mix


def copy_layer(layer: keras.layers.Layer, trainable: bool, dtype: str):
    def flag(next_creator, **kwargs):
        return next_creator(**kwargs | {"trainable": trainable})

    config = layer.get_config() | {"dtype": dtype, "trainable": trainable}
    copy = type(layer).from_config(config)
    with tf.variable_creator_scope(flag):  # the flag set at creation is saved
        copy.build_from_config(layer.get_build_config())
    for new, old in zip(copy.weights, layer.weights, strict=True):
        new.assign(old)
    copy.trainable = trainable
    return copy


def trace_call(vectors: Vectors, split: Callable, default_as_dict: bool):
    # One graph for both kinds of input: the file is smaller, and loads faster.
    compute = tf.function(vectors.__call__, autograph=False)

    @tf.function(autograph=False)
    def call(inputs, training=False, as_dict=default_as_dict, signature=None):
        if isinstance(inputs, Mapping):
            tokens = first_tokens(**inputs)
            outputs = compute(tokens, tf.shape(inputs["tokens"])[1], training)
        else:
            tokens = split(as_batch(inputs))
            outputs = compute(tokens, longest(tokens), training)
        return outputs if as_dict else outputs["default"]

    # The rank is open, because `tf.squeeze` in front of it hides the rank.
    sentences = sentences_spec(shape=None)
    for inputs, name in ((sentences, "default"), (tokens_specs(), "tokens")):
        # `hub.Module` had no argument `training`.
        for training, signature in ((False, None), (True, None), (False, name)):
            for as_dict in (False, True):
                call.get_concrete_function(inputs, training, as_dict, signature)
    return call


def as_batch(texts: tf.Tensor) -> tf.Tensor:
    """Texts `(batch,)`; a scalar, such as `tf.squeeze` leaves, is a batch of one."""
    missing = tf.ones([tf.maximum(1 - tf.rank(texts), 0)], tf.int32)
    texts = tf.reshape(texts, tf.concat([missing, tf.shape(texts)], axis=0))
    return tf.ensure_shape(texts, (None,))


def trace_signatures(vectors: Vectors, split: Callable, input_name: str) -> dict:
    @tf.function(input_signature=[sentences_spec(input_name)], autograph=False)
    def embed_sentences(sentences):
        tokens = split(sentences)
        return vectors(tokens, longest(tokens))

    @tf.function(input_signature=list(tokens_specs().values()), autograph=False)
    def embed_tokens(tokens, sequence_len):
        tokens = columns_with_rows(tokens)
        return vectors(first_tokens(tokens, sequence_len), tf.shape(tokens)[1])

    default = embed_sentences.get_concrete_function()
    return {
        "default": default,
        "serving_default": default,
        "tokens": embed_tokens.get_concrete_function(),
    }
