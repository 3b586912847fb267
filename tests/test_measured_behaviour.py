"""Behaviour of other libraries that this one relies on or guards against."""

import io

import h5py
import keras
import numpy as np
import pyfive
import tensorflow as tf


def test_tensorflow_does_what_the_page_says():
    matches = tf.strings.regex_full_match(["ſ", "s"], "[sS]|[mM]")
    assert matches.numpy().tolist() == [True, True]  # although "ſ" is no "s"
    proto = tf.make_tensor_proto([b"a", b"b"])
    proto.tensor_shape.dim[0].size = 3
    assert tf.make_ndarray(proto).tolist() == [b"a", b"b", b"b"]
    empty = tf.nn.conv1d(tf.zeros((0, 5, 3)), tf.zeros((2, 3, 8)), 1, "VALID")
    assert empty.shape.as_list() == [0, 5, 3]
    spaces = [c for c in map(chr, range(0x3001)) if c.isspace()]
    sizes = tf.strings.split([f"a{c}b" for c in spaces]).row_lengths().numpy()
    split = "".join(c for c, size in zip(spaces, sizes) if size > 1)
    assert split == "\t\n\x0b\x0c\r "


def test_an_optimizer_adds_the_squares_of_a_row_that_repeats_once():
    table = keras.Variable(tf.zeros((2, 1)))
    gradient = tf.IndexedSlices(tf.ones((2, 1)), tf.constant([1, 1]), (2, 1))
    keras.optimizers.Adagrad(1.0).apply([gradient], [table])
    assert round(float(table[1, 0]), 1) == -1.4
    schedule = keras.optimizers.schedules.ExponentialDecay(1.0, 1, 0.9)
    assert [v.name for v in keras.optimizers.SGD(schedule).variables] == ["iteration"]


def test_layers_of_keras_treat_masks_as_the_page_says():
    mean = keras.layers.GlobalAveragePooling1D()
    assert np.isnan(mean(tf.ones((1, 1, 1)), mask=tf.constant([[False]])))
    lstm, dense = keras.layers.LSTM(1), keras.layers.Dense(1)
    layers = keras.layers.Bidirectional(lstm), keras.layers.TimeDistributed(dense)
    assert all(layer.supports_masking for layer in (lstm, *layers))


def test_pyfive_reads_booleans_as_numbers():
    file = io.BytesIO()
    with h5py.File(file, "w") as written:
        written["flags"] = [True, False]
    assert pyfive.File(file)["flags"].dtype.name == "int8"
