"""The layer that splits texts."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo, ElmoConfig, Tokenize, layers, split_words

TEXTS = ["I don't know... 7.5점, 재밌어요^^", "", "  ", "cafe\u0301 👩\u200d🚀!"]


def test_tokens_are_those_of_the_splitters():
    rows = Tokenize()(tf.constant(TEXTS)).numpy()
    for row, text in zip(rows, TEXTS, strict=True):
        assert [token.decode() for token in row if token] == split_words(text)
    rows = Tokenize("spaces")(tf.constant([["a  b's"], ["c"]])).numpy()
    assert rows.tolist() == [[b"a", b"b's"], [b"c", b""]]
    assert Tokenize()(tf.constant([""])).shape == (1, 1)
    assert Tokenize()(tf.constant([], tf.string)).shape == (0, 1)
    with pytest.raises(ValueError, match="Texts should be strings"):
        Tokenize()(tf.constant([["a", "b"]]))
    with pytest.raises(ValueError, match="`tokenizer` should be"):
        Tokenize("letters")


@pytest.mark.slow
def test_a_model_of_raw_texts_learns_with_empty_ones_and_is_saved(tmp_path):
    elmo = Elmo(ElmoConfig.preset("test"))
    texts = keras.Input((), dtype="string")
    mean, highest = layers.MeanPooling(), layers.MaxPooling()
    x = elmo(Tokenize()(texts))
    x = keras.layers.Concatenate()([mean(x), highest(x)])
    model = keras.Model(texts, keras.layers.Dense(1)(x))
    model.compile("adam", "mse", jit_compile=False)
    data = tf.data.Dataset.from_tensors((tf.constant(TEXTS), tf.ones((4, 1))))
    model.fit(data, shuffle=False, verbose=0)
    expected = model.predict(tf.constant(TEXTS), verbose=0)
    assert np.isfinite(expected).all()
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(
        loaded.predict(tf.constant(TEXTS), verbose=0), expected
    )


def test_pooling_reads_real_tokens_only():
    x = np.array([[[1.0, -4.0], [3.0, -2.0], [9.0, 9.0]]] * 2, "float32")
    mask = np.array([[True, True, False], [False] * 3])
    mean, highest = layers.MeanPooling(), layers.MaxPooling()
    np.testing.assert_array_equal(mean(x, mask=mask), [[2, -3], [0, 0]])
    np.testing.assert_array_equal(highest(x, mask=mask), [[3, -2], [0, 0]])
    np.testing.assert_array_equal(mean(x)[0], x[0].mean(axis=0))
