"""Code that people posted in threads about google/elmo, with only the handle changed.

`hub.Module` is written `hub.load`, and Keras' layers around `hub.KerasLayer` are those of
tf_keras; see docs/pages/how-to/google-elmo.md.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

hub = pytest.importorskip("tensorflow_hub")
tf_keras = pytest.importorskip("tf_keras")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:pkg_resources:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
MAT = ["the cat is on the mat", "dogs are in the fog"]
FOUR = [["so", "close", "", ""], ["no", "matter", "how", "far"]]
DIM = 10  # 2 · projection_dim


def hub_385_and_bilm_tf_242(handle):
    with tf.Graph().as_default():
        elmo = hub.load(handle)
        embeddings = elmo(MAT, signature="default", as_dict=True)["elmo"]
        with tf.compat.v1.train.MonitoredSession() as session:
            assert session.run([embeddings])[0].shape == (2, 6, DIM)


def hub_369_an_extra_sentence_in_the_batch(handle):
    elmo = hub.load(handle)

    def embed(tokens, lengths):
        inputs = {"tokens": tokens, "sequence_len": lengths}
        return elmo(inputs=inputs, signature="tokens", as_dict=True)["elmo"]

    alone = embed([FOUR[0][:2]], [2])
    np.testing.assert_allclose(embed(FOUR, [2, 4])[:1, :2], alone, atol=1e-6)


def hub_416_a_gradient_tape(handle):
    module = hub.load(handle)  # TensorFlow deletes the variables with it
    elmo = module.signatures["default"]
    with tf.GradientTape() as tape:
        weight = tf.Variable(1.0)
        loss = tf.reduce_sum(weight * elmo(tf.constant(MAT))["elmo"])
    assert tape.gradient(loss, weight) is not None


def hub_402_tokens_and_lengths_in_keras(handle):
    tokens = tf_keras.layers.Input(shape=[None], dtype=tf.string)
    seq_lens = tf_keras.layers.Input(shape=[], dtype=tf.int32)
    elmo = hub.KerasLayer(handle, signature="tokens", output_key="elmo")
    out = elmo({"tokens": tokens, "sequence_len": seq_lens})
    model = tf_keras.Model(inputs=[tokens, seq_lens], outputs=out)
    given = [tf.constant(FOUR), tf.constant([2, 4])]
    assert model.predict(given, verbose=0).shape == (2, 4, DIM)


def hub_402_trained(handle):
    """`trainable=True` and `signature=…` exclude each other in hub."""
    tokens = tf_keras.layers.Input(shape=[None], dtype=tf.string)
    seq_lens = tf_keras.layers.Input(shape=[], dtype=tf.int32)
    call = {"arguments": {"as_dict": True}, "output_key": "elmo"}
    elmo = hub.KerasLayer(handle, trainable=True, **call)
    out = elmo({"tokens": tokens, "sequence_len": seq_lens})
    model = tf_keras.Model(inputs=[tokens, seq_lens], outputs=out)
    model.compile("sgd", "mse")
    before = [weight.numpy() for weight in elmo.trainable_weights]
    model.fit([tf.constant(FOUR), tf.constant([2, 4])], tf.ones([2, 4, DIM]), verbose=0)
    assert len(before) == 2  # the mix
    assert all(np.any(w != b) for w, b in zip(elmo.trainable_weights, before))


def hub_412_one_constant_length(handle):
    input_tokens = tf_keras.layers.Input(shape=(4,), dtype="string")
    sequence_length = tf.constant([4])
    elmo = hub.KerasLayer(handle, signature="tokens", output_key="elmo")
    vectors = elmo(inputs={"tokens": input_tokens, "sequence_len": sequence_length})
    model = tf_keras.Model(input_tokens, vectors)
    assert model.predict(tf.constant(FOUR), verbose=0).shape == (2, 4, DIM)


def hub_838_and_tensorflow_53579_a_lambda_of_a_signature(handle):
    elmo_model, batch_size, max_len = hub.load(handle), 2, 4

    def elmo_embedding(x):
        return elmo_model.signatures["tokens"](
            tokens=tf.squeeze(tf.cast(x, tf.string)),
            sequence_len=tf.constant(batch_size * [max_len]),
        )["elmo"]

    entry = keras.layers.Input(shape=(max_len,), dtype="string")
    elmo = keras.layers.Lambda(elmo_embedding, output_shape=(None, DIM))(entry)
    model = keras.Model(entry, keras.layers.Dense(3, activation="softmax")(elmo))
    model.compile("adam", "sparse_categorical_crossentropy")
    data = tf.data.Dataset.from_tensors((FOUR, np.zeros([2, 4], int)))
    assert np.isfinite(model.fit(data, shuffle=False, verbose=0).history["loss"])


def hub_349_signatures_of_a_list(handle):
    module = hub.load(handle)  # without `tags=[]`
    assert module.signatures["default"](tf.constant(MAT))["default"].shape == (2, DIM)


def a_squeezed_batch_of_one(handle):
    elmo = hub.load(handle)

    @tf.function(input_signature=[tf.TensorSpec((None, 1), tf.string)])
    def embed(x):
        return elmo(tf.squeeze(x), signature="default", as_dict=True)["default"]

    column = tf.constant(MAT)[:, None]
    np.testing.assert_allclose(embed(column[:1]), embed(column)[:1], atol=1e-6)
    assert elmo(tf.constant("one text")).shape == (1, DIM)


def a_constant_length_for_a_short_last_batch(handle):
    elmo = hub.load(handle)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"such as tf\.fill\("):
        elmo.signatures["tokens"](
            tokens=tf.constant(FOUR), sequence_len=tf.constant(3 * [4])
        )


@pytest.mark.parametrize(
    "posted",
    [
        hub_385_and_bilm_tf_242,
        hub_369_an_extra_sentence_in_the_batch,
        hub_416_a_gradient_tape,
        hub_402_tokens_and_lengths_in_keras,
        hub_402_trained,
        hub_412_one_constant_length,
        hub_838_and_tensorflow_53579_a_lambda_of_a_signature,
        hub_349_signatures_of_a_list,
        a_squeezed_batch_of_one,
        a_constant_length_for_a_short_last_batch,
    ],
)
def test_posted_code_runs(posted, exported_version):
    posted(str(exported_version))
