"""Properties that every layer must have, tested on a tiny instance of each."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import BidirectionalLanguageModel, Elmo, layers
from tests.support.dictionaries import DICTIONARY
from tests.support.models import randomize, with_gradients
from tests.support.sizes import CONFIG

RNG = np.random.default_rng(0)
BATCH, TIME, DIM = 4, 6, 3
FEATURES = tf.constant(RNG.normal(size=(BATCH, TIME, DIM)).astype("float32"))
LENGTHS = np.array([6, 2, 1, 4])
MASK = tf.sequence_mask(LENGTHS, TIME)
IDS = tf.constant(RNG.integers(1, 262, size=(BATCH, TIME, 9)).astype("int32"))
IDS = tf.where(MASK[..., None], IDS, 0)
N_WORDS, N_CHARACTERS = DICTIONARY.n_words, DICTIONARY.n_characters
NUMBERS = RNG.integers(1, N_CHARACTERS + 1, size=(BATCH, TIME, 10)).astype("int32")
NUMBERS[..., 0] = RNG.integers(1, N_WORDS + 1, size=(BATCH, TIME))
NUMBERS = tf.where(MASK[..., None], tf.constant(NUMBERS), 0)
WORDS = [["A", "", "naïve", "word", "too", "longlonglong"], [*"bb"], ["c"], [*"defg"]]
TOKENS = tf.ragged.constant(WORDS).to_tensor()[:, :TIME]
STACK = tf.constant(RNG.normal(size=(BATCH, 3, TIME, DIM)).astype("float32"))

NO_CLIPS = {"cell_clip": None, "proj_clip": None}
BARE = {"cell_clip": 0.5, "proj_clip": 0.4, "forget_bias": 0.0}
BARE |= {"use_skip_connections": False}
LEARNED = {"mix": [0.1, 0.2, -0.3], "gamma": 2.0}
LEARNED |= {"layer_norm": True, "regularizer": keras.regularizers.L2(0.5)}
WHOLE = {"keep_sentence_boundaries": True}
GROUPS = (1, 2), (3, 5)  # of filters
OF_DICTIONARY = {"n_characters": N_CHARACTERS}
OF_WORDS = OF_DICTIONARY | {"n_words": N_WORDS, "word_dim": 6, "activation": "tanh"}
ROWS = {
    "Highway": (layers.Highway, FEATURES),
    "CharacterCNN": (
        partial(layers.CharacterCNN, GROUPS, 4, 3, n_highway=2, activation="tanh"),
        IDS,
    ),
    "CharacterCNN_without_projection": (
        partial(layers.CharacterCNN, GROUPS, 7, 3, n_highway=0),
        IDS,
    ),
    "CharacterCNN_of_words_and_characters": (
        partial(layers.CharacterCNN, GROUPS, 4, 3, **OF_WORDS),
        NUMBERS,
    ),
    "CharacterCNN_of_a_dictionary": (
        partial(layers.CharacterCNN, GROUPS, 7, 3, **OF_DICTIONARY),
        NUMBERS[..., 1:],
    ),
    "ProjectedLSTM": (partial(layers.ProjectedLSTM, 7, 5), FEATURES),
    "ProjectedLSTM_reverse": (
        partial(layers.ProjectedLSTM, 7, 5, **NO_CLIPS, reverse=True),
        FEATURES,
    ),
    "BidirectionalLSTM": (partial(layers.BidirectionalLSTM, 3, 7, 5), FEATURES),
    "BidirectionalLSTM_without_skips": (
        partial(layers.BidirectionalLSTM, 2, 7, 5, **BARE),
        FEATURES,
    ),
    "ScalarMix": (partial(layers.ScalarMix, **LEARNED), STACK),
    "ScalarMix_one_layer": (partial(layers.ScalarMix, -1), STACK),
    "WordSoftmax": (partial(layers.WordSoftmax, 11), FEATURES),
    "MeanPooling": (layers.MeanPooling, FEATURES),
    "MaxPooling": (layers.MaxPooling, FEATURES),
    "BidirectionalLanguageModel": (
        partial(BidirectionalLanguageModel, CONFIG, vocabulary_size=11),
        IDS,
    ),
    "Elmo": (
        partial(Elmo, CONFIG, trainable_bilm=True, layer_norm=True, l2=0.1),
        TOKENS,
    ),
    "Elmo_of_all_layers": (partial(Elmo, CONFIG, layers="all"), TOKENS),
    "Elmo_of_characters": (
        partial(Elmo, CONFIG, num_representations=2, layers="average", **WHOLE),
        IDS,
    ),
}
# The other rows are layers within these.
LARGE = "CharacterCNN_of_words_and_characters", "Elmo"
SAVED_ROWS = [
    *("ScalarMix", "WordSoftmax"),
    *(pytest.param(name, marks=pytest.mark.journey) for name in LARGE),
]
# Their choice of layers alone differs from the other row of `Elmo`.
WITH_JOURNEYS = [
    pytest.param(name, marks=pytest.mark.journey if "Elmo_" in name else ())
    for name in ROWS
]


class Row(NamedTuple):
    """A layer of the table with random weights."""

    make: Callable[..., keras.layers.Layer]  # makes another such layer
    layer: keras.layers.Layer
    inputs: tf.Tensor
    graph: Callable[[tf.Tensor], object]  # for inputs of any batch and time


@pytest.fixture(scope="module", params=WITH_JOURNEYS)
def row(request):
    make, inputs = ROWS[request.param]
    layer = make()
    layer(inputs)
    stacked = inputs.shape.rank == 4
    shape = [None, 3, None, DIM] if stacked else [None, None, *inputs.shape[2:]]
    signature = [tf.TensorSpec(shape, inputs.dtype)]
    graph = tf.function(lambda x: layer(x), input_signature=signature)
    return Row(make, randomize(layer), inputs, graph)


def close(actual, expected, tolerance=0.0):
    tf.nest.assert_same_structure(actual, expected)
    for a, b in zip(tf.nest.flatten(actual), tf.nest.flatten(expected)):
        assert a.shape == b.shape
        difference = np.abs(np.asarray(a, "float64") - np.asarray(b, "float64"))
        assert difference.max() <= tolerance


def test_every_public_layer_has_a_row():
    names = {name.partition("_")[0] for name in ROWS}
    assert set(layers.__all__) <= names


def test_config_round_trip_keeps_every_argument(row):
    layer = row.make(name="a_name")
    config = layer.get_config()
    assert type(layer).from_config(config).get_config() == config
    serialized = keras.saving.serialize_keras_object(layer)
    copy = keras.saving.deserialize_keras_object(serialized)
    assert copy.get_config() == config


def test_pooling_reads_real_tokens_only():
    x = tf.constant([[[1.0, -4.0], [3.0, -2.0], [9.0, 9.0]]] * 2)
    mask = tf.constant([[True, True, False], [False] * 3])
    mean, highest = layers.MeanPooling(), layers.MaxPooling()
    np.testing.assert_array_equal(mean(x, mask=mask), [[2, -3], [0, 0]])
    np.testing.assert_array_equal(highest(x, mask=mask), [[3, -2], [0, 0]])
    np.testing.assert_array_equal(mean(x), tf.reduce_mean(x, axis=1))


def test_a_saved_keras_model_has_the_shapes_and_values_of_the_layer(row, tmp_path):
    entry = keras.Input(row.inputs.shape[1:], dtype=row.inputs.dtype.name)
    model = keras.Model(entry, row.layer(entry))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    close(loaded(row.inputs), expected := row.layer(row.inputs))
    for symbolic, value in zip(model.outputs, tf.nest.flatten(expected), strict=True):
        assert tuple(symbolic.shape[1:]) == tuple(value.shape[1:])
        assert symbolic.dtype == value.dtype.name


def test_a_graph_gives_the_eager_values(row, unoptimized_graphs):
    expected = row.layer(row.inputs)
    # A graph may add up some tens of float32 terms in another order.
    close(row.graph(row.inputs), expected, 1e-6)


@pytest.mark.parametrize("row", SAVED_ROWS, indirect=True)
def test_a_saved_model_gives_the_same(row, unoptimized_graphs, tmp_path):
    module = tf.Module()
    module.layer, module.run = row.layer, row.graph
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    close(loaded.run(row.inputs), row.graph(row.inputs))


def test_bfloat16_is_near_float32(row, eagerly):
    half = row.make(dtype="mixed_bfloat16")
    half(row.inputs)
    half.set_weights(row.layer.get_weights())
    expected, actual = row.layer(row.inputs), half(row.inputs)
    for a, b in zip(tf.nest.flatten(actual), tf.nest.flatten(expected)):
        assert a.dtype == ("float32" if "softmax" in half.name else "bfloat16")
        # bfloat16 has 8 bits: a relative 2⁻⁸ in each of some tens of operations.
        error = np.abs(np.asarray(a, "float32") - b.numpy()).max()
        assert error <= 0.05 * max(1.0, np.abs(b).max())


def test_gradients_reach_every_trainable_weight_and_are_finite(row):
    # The outputs depend on these variables.
    weights = [w for w in row.layer.trainable_weights if "softmax" not in w.path]
    watched = [weight.value for weight in weights]
    results = with_gradients(lambda: row.layer(row.inputs, training=True), watched)
    gradients = results[len(results) - len(weights) :]
    for weight, gradient in zip(weights, gradients):
        assert np.isfinite(gradient).all() and np.any(gradient), weight.path


def test_the_mask_is_passed_on(row):
    inputs, mask = row.inputs, MASK
    if inputs.shape.rank == 4:
        inputs = [tf.identity(x) for x in tf.unstack(inputs, axis=1)]
        for x in inputs:
            x._keras_mask = MASK
    elif inputs.dtype == tf.float32:
        inputs = tf.identity(inputs)
        inputs._keras_mask = MASK
    elif getattr(row.layer, "keep_sentence_boundaries", False):
        mask = tf.sequence_mask(LENGTHS + 2)
    pools = isinstance(row.layer, (layers.MeanPooling, layers.MaxPooling))
    if pools or getattr(row.layer, "layer_choice", None) == "all":
        mask = None
    for output in tf.nest.flatten(row.layer(inputs)):
        np.testing.assert_array_equal(getattr(output, "_keras_mask", None), mask)
