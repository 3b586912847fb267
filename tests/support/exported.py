"""The smallest model to export, with the outputs expected from it."""

import contextlib
import functools

import keras
import tensorflow as tf

from elmo_keras import Elmo
from tests.support.models import randomize
from tests.support.sizes import CONFIG

v1 = tf.compat.v1
TOKENS = [["a", "naïve", "word", "."], ["한국어", "🙂"], [], ["antidisestablishment"]]
SENTENCES = [" ".join(tokens) for tokens in TOKENS]
STRINGS = {"shape": (), "dtype": "string"}  # of a Keras input
LENGTHS = [len(tokens) for tokens in TOKENS]


def elmo_layer(config=None, seed=0, **kwargs):
    """A small `Elmo` layer with random weights, also of the mix."""
    elmo = Elmo(config or CONFIG, **kwargs)
    elmo.build()
    return randomize(elmo, seed)


def padded(junk="", tokens=TOKENS):
    """The tokens and lengths of the `tokens` signature."""
    lengths = tf.constant([len(sentence) for sentence in tokens])
    tokens = tf.ragged.constant(tokens, tf.string).to_tensor(junk)
    return {"tokens": tokens, "sequence_len": lengths}


@functools.cache
def expected(elmo, tokens=None):
    """The outputs of an export for tuples of tokens, computed by the layer."""
    tokens = TOKENS if tokens is None else tokens
    vectors, layers = elmo([*tokens]), elmo.all_layers([*tokens])
    lengths = tf.constant([len(sentence) for sentence in tokens])
    n_tokens = tf.cast(tf.maximum(lengths, 1), "float32")[:, None]
    outputs = {
        "word_emb": layers[:, 0, :, : layers.shape[-1] // 2],
        "layers": layers,
        "elmo": vectors,
        "default": tf.reduce_sum(vectors, axis=1) / n_tokens,
        "sequence_len": lengths,
    }
    for i in range(1, layers.shape[1]):
        outputs[f"lstm_outputs{i}"] = layers[:, i]
    return outputs


@functools.cache
def signatures_of(version):
    """The signatures of an export as TensorFlow 2 loads it, which takes seconds."""
    return tf.saved_model.load(str(version)).signatures


@contextlib.contextmanager
def session_of(version):
    """Runs outputs of a signature in a session of TensorFlow 1, as a server does."""
    session = v1.Session(graph=tf.Graph())
    loaded = v1.saved_model.load(session, ["serve"], str(version))

    def run(signature, outputs, inputs, **kwargs):
        signature = loaded.signature_def[signature]
        feed = {signature.inputs[name].name: x for name, x in inputs.items()}
        outputs = outputs or [*signature.outputs]
        fetches = {name: signature.outputs[name].name for name in outputs}
        return session.run(fetches, feed, **kwargs)

    yield run
    session.close()


def tagger(layer):
    """A task model on top of a layer that takes sentences."""
    entry = keras.Input(**STRINGS)
    hidden = keras.layers.LSTM(3, seed=0)(layer(entry))
    return keras.Model(entry, hidden)
