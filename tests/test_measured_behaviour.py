"""What other libraries do and this one relies on or guards against: an upgrade that changes it fails here."""

import io

import h5py
import keras
import pyfive
import pytest
import tensorflow as tf


def matches_of_alternatives():
    return tf.strings.regex_full_match(["ſ", "s"], "[sS]|[mM]").numpy().tolist()


def rows_of_a_short_request():
    proto = tf.make_tensor_proto([b"a", b"b"])
    proto.tensor_shape.dim[0].size = 3
    return tf.make_ndarray(proto).tolist()


def shape_of_an_empty_convolution():
    x, kernel = tf.zeros((0, 5, 3)), tf.zeros((2, 3, 8))
    return tf.nn.conv1d(x, kernel, 1, "VALID").shape.as_list()


def step_for_a_row_that_repeats():
    table = keras.Variable(tf.zeros((2, 1)))
    gradient = tf.IndexedSlices(tf.ones((2, 1)), tf.constant([1, 1]), (2, 1))
    keras.optimizers.Adagrad(1.0).apply([gradient], [table])
    return round(float(table[1, 0]), 1)


def mean_of_a_masked_row():
    mask = tf.constant([[False]])
    mean = keras.layers.GlobalAveragePooling1D()(tf.ones((1, 1, 1)), mask=mask)
    return str(mean.numpy().item())


def layers_that_pass_the_mask_on():
    lstm, dense = keras.layers.LSTM(1), keras.layers.Dense(1)
    layers = keras.layers.Bidirectional(lstm), keras.layers.TimeDistributed(dense)
    return [layer.supports_masking for layer in (lstm, *layers)]


def variables_of_an_optimizer_with_a_schedule():
    schedule = keras.optimizers.schedules.ExponentialDecay(1.0, 1, 0.9)
    return [v.name for v in keras.optimizers.SGD(schedule).variables]


def type_of_booleans_in_pyfive():
    file = io.BytesIO()
    with h5py.File(file, "w") as written:
        written["flags"] = [True, False]
    return pyfive.File(file)["flags"].dtype.name


def separators_of_split():
    spaces = [c for c in map(chr, range(0x3001)) if c.isspace()]
    sizes = tf.strings.split([f"a{c}b" for c in spaces]).row_lengths().numpy()
    return "".join(c for c, size in zip(spaces, sizes) if size > 1)


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        (matches_of_alternatives, [True, True]),
        (rows_of_a_short_request, [b"a", b"b", b"b"]),
        (shape_of_an_empty_convolution, [0, 5, 3]),
        (step_for_a_row_that_repeats, -1.4),
        (mean_of_a_masked_row, "nan"),
        (layers_that_pass_the_mask_on, [True] * 3),
        (variables_of_an_optimizer_with_a_schedule, ["iteration"]),
        (type_of_booleans_in_pyfive, "int8"),
        (separators_of_split, "\t\n\x0b\x0c\r "),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_other_libraries_do_what_the_page_on_them_says(behaviour, expected):
    assert behaviour() == expected
