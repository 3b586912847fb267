"""A biLM and a mix as an object for `tf.saved_model.save`."""

import tensorflow as tf

from elmo_keras import Elmo
from elmo_keras.export.options import ExportOptions
from elmo_keras.export.reusable import TOKENS, longest, make_reusable, sentences_spec
from elmo_keras.export.sentences import columns_with_rows, real_tokens, splitter
from elmo_keras.export.vectors import Vectors
from elmo_keras.layers import ScalarMix


def make_saved_model(
    elmo: Elmo, options: ExportOptions, representation: int = 0
) -> tuple[tf.train.Checkpoint, dict, ScalarMix]:
    """The object to save with the weights of an `Elmo` layer, and its signatures.

    The object is a Reusable SavedModel, see `make_reusable`. Also returns its mix.
    """
    bilm = _copy(elmo.bilm, options.trainable == "all", options.dtype)
    mix = _copy(elmo.mixes[representation], options.trainable != "nothing", "float32")
    split = splitter(options.tokenizer, options.normalization)
    vectors = Vectors(bilm, mix, elmo.dropout)
    root = make_reusable(vectors, split, as_dict=options.as_dict)
    root.variables = [v.value for v in (*bilm.weights, *mix.weights)]
    root.trainable_variables = [v for v in root.variables if v.trainable]
    root.regularization_losses = _regularization_losses(mix)
    of_signatures = mix
    if options.trainable == "mix":
        # A `TFSMLayer` of a signature takes all its variables, and Adam refuses the
        # names of those that are trained: "mix_0_gamma:0" is no name of a scope.
        of_signatures = _copy(mix, False, "float32")
        root.signature_variables = [v.value for v in of_signatures.weights]
    signatures = _signatures(Vectors(bilm, of_signatures), split, options)
    return root, signatures, mix


def _copy(layer, trainable, dtype):
    def flagged(next_creator, **kwargs):
        return next_creator(**kwargs | {"trainable": trainable})

    config = layer.get_config() | {"dtype": dtype, "trainable": trainable}
    copy = type(layer).from_config(config)
    with tf.variable_creator_scope(flagged):  # the flag set at creation is saved
        copy.build_from_config(layer.get_build_config())
    for new, old in zip(copy.weights, layer.weights, strict=True):
        new.assign(old)
    copy.trainable = trainable
    return copy


def _regularization_losses(mix):
    if mix.regularizer is None or mix.layer_choice != "mix":
        return []
    scalars = mix.scalars.value
    loss = tf.function(lambda: mix.regularizer(scalars), input_signature=[])
    return [loss]


def _signatures(vectors, split, options):
    @tf.function(input_signature=[sentences_spec(options.input_name)], autograph=False)
    def default(sentences):
        tokens = split(sentences)
        return vectors(tokens, longest(tokens))

    @tf.function(input_signature=list(TOKENS.values()), autograph=False)
    def tokens(tokens, sequence_len):
        tokens = columns_with_rows(tokens)
        return vectors(real_tokens(tokens, sequence_len), tf.shape(tokens)[1])

    default = default.get_concrete_function()
    return {
        "default": default,
        "serving_default": default,
        "tokens": tokens.get_concrete_function(),
    }
