"""The object of a SavedModel that programs call: a Reusable SavedModel of TF Hub."""

from collections.abc import Callable, Mapping

import tensorflow as tf

from elmo_keras.export.options import INPUT_NAMES
from elmo_keras.export.sentences import real_tokens
from elmo_keras.export.vectors import Vectors

# Of the input of the signature `default`.
TOKENS = {
    "tokens": tf.TensorSpec((None, None), tf.string, name="tokens"),
    "sequence_len": tf.TensorSpec((None,), tf.int32, name="sequence_len"),
}


def sentences_spec(name: str = INPUT_NAMES[0], shape=(None,)) -> tf.TensorSpec:
    return tf.TensorSpec(shape, tf.string, name=name)


def make_reusable(
    vectors: Vectors, split: Callable, *, as_dict: bool
) -> tf.train.Checkpoint:
    """An object to save that is called as `hub.Module` was.

    `root(inputs, training=False, as_dict=…, signature=None)` returns the output
    `default`, `(batch, 2P)`, or with `as_dict=True` all outputs of `Vectors`. `inputs`
    are those of a signature: sentences `(batch,)`, or a dict of `tokens` and
    `sequence_len`. Without training, `signature` may name it: `"default"`, `"tokens"`.
    `root.sequence_len(sentences)` returns the number of tokens of each sentence.
    """
    root = tf.train.Checkpoint()
    root.__call__ = _traced_call(vectors, split, as_dict)
    root.sequence_len = tf.function(
        lambda sentences: tf.cast(split(sentences).row_lengths(), tf.int32),
        input_signature=[sentences_spec()],
        autograph=False,
    )
    return root


def _traced_call(vectors, split, default):
    # One graph for both kinds of input: the file is smaller, and loads faster.
    vectors = tf.function(vectors.__call__, autograph=False)

    @tf.function(autograph=False)
    def call(inputs, training=False, as_dict=default, signature=None):
        if isinstance(inputs, Mapping):
            tokens = real_tokens(**inputs)
            outputs = vectors(tokens, tf.shape(inputs["tokens"])[1], training)
        else:
            tokens = split(_batch(inputs))
            outputs = vectors(tokens, longest(tokens), training)
        return outputs if as_dict else outputs["default"]

    # Of any rank, because `tf.squeeze` in front of it hides the rank.
    sentences = sentences_spec(shape=None)
    for inputs, name in ((sentences, "default"), (TOKENS, "tokens")):
        # `hub.Module` had no argument `training`.
        for training, signature in ((False, None), (True, None), (False, name)):
            for as_dict in (False, True):
                call.get_concrete_function(inputs, training, as_dict, signature)
    return call


def _batch(texts):
    """Texts `(batch,)`; one of no rank, such as `tf.squeeze` leaves, is a batch of one."""
    missing = tf.ones([tf.maximum(1 - tf.rank(texts), 0)], tf.int32)
    texts = tf.reshape(texts, tf.concat([missing, tf.shape(texts)], axis=0))
    return tf.ensure_shape(texts, (None,))


def longest(tokens: tf.RaggedTensor) -> tf.Tensor:
    return tf.reduce_max(tf.concat([[0], tf.cast(tokens.row_lengths(), tf.int32)], 0))
