"""What every layer has to do, tried on a tiny instance of each."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize

from elmo_keras import BidirectionalLanguageModel, Elmo, ElmoConfig, layers

CONFIG = ElmoConfig.preset("test")
RNG = np.random.default_rng(0)
BATCH, TIME, DIM = 4, 6, 3
FEATURES = tf.constant(RNG.normal(size=(BATCH, TIME, DIM)).astype("float32"))
LENGTHS = np.array([6, 2, 1, 4])
MASK = tf.sequence_mask(LENGTHS, TIME)
IDS = tf.constant(RNG.integers(1, 262, size=(BATCH, TIME, 9)).astype("int32"))
IDS = tf.where(MASK[..., None], IDS, 0)
WORDS = [
    ["A", "", "naïve", "word", "too", "longlonglong"],
    ["b", "b"],
    ["c"],
    list("defg"),
]
TOKENS = tf.ragged.constant(WORDS).to_tensor()[:, :TIME]
STACK = tf.constant(RNG.normal(size=(BATCH, 3, TIME, DIM)).astype("float32"))

ROWS = {
    "Highway": (lambda **k: layers.Highway(carry_bias=-1.0, **k), FEATURES),
    "CharacterCNN": (
        lambda **k: layers.CharacterCNN(((1, 2), (3, 5)), 4, 3, 2, "tanh", **k),
        IDS,
    ),
    "CharacterCNN_without_projection": (
        lambda **k: layers.CharacterCNN(((1, 2), (3, 5)), 7, 3, 0, **k),
        IDS,
    ),
    "ProjectedLSTM": (lambda **k: layers.ProjectedLSTM(7, 5, **k), FEATURES),
    "ProjectedLSTM_reverse": (
        lambda **k: layers.ProjectedLSTM(7, 5, None, None, reverse=True, **k),
        FEATURES,
    ),
    "StackedLSTM": (lambda **k: layers.StackedLSTM(3, 7, 5, **k), FEATURES),
    "BidirectionalLSTM": (
        lambda **k: layers.BidirectionalLSTM(
            2, 7, 5, 0.5, 0.4, use_skip_connections=False, **k
        ),
        FEATURES,
    ),
    "ScalarMix": (
        lambda **k: layers.ScalarMix(
            initial_weights=[0.1, 0.2, -0.3],
            initial_gamma=2.0,
            layer_norm=True,
            regularizer=keras.regularizers.L2(0.5),
            **k,
        ),
        STACK,
    ),
    "ScalarMix_average": (lambda **k: layers.ScalarMix("average", **k), STACK),
    "ScalarMix_one_layer": (lambda **k: layers.ScalarMix(-1, **k), STACK),
    "WordSoftmax": (lambda **k: layers.WordSoftmax(11, **k), FEATURES),
    "BidirectionalLanguageModel": (
        lambda **k: BidirectionalLanguageModel(CONFIG, 11, **k),
        IDS,
    ),
    "Elmo": (
        lambda **k: Elmo(CONFIG, trainable_bilm=True, layer_norm=True, l2=0.1, **k),
        TOKENS,
    ),
    "Elmo_of_characters": (
        lambda **k: Elmo(CONFIG, 2, "average", keep_sentence_boundaries=True, **k),
        IDS,
    ),
}


@pytest.fixture(params=ROWS)
def row(request):
    return ROWS[request.param]


def built(row, **kwargs):
    make, inputs = row
    layer = make(**kwargs)
    layer(inputs)
    return randomize(layer), inputs


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
    layer, _ = built(row, name="a_name")
    config = layer.get_config()
    copy = type(layer).from_config(config)
    assert copy.get_config() == config
    assert keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(layer)
    ).get_config() == (config)


def test_a_saved_keras_model_predicts_the_same(row, tmp_path):
    layer, inputs = built(row)
    entry = keras.Input(inputs.shape[1:], dtype=inputs.dtype.name)
    model = keras.Model(entry, layer(entry))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    close(loaded(inputs), layer(inputs))


def test_symbolic_shapes_are_those_of_the_values(row):
    layer, inputs = built(row)
    entry = keras.Input(inputs.shape[1:], dtype=inputs.dtype.name)
    symbolic, values = tf.nest.flatten(layer(entry)), tf.nest.flatten(layer(inputs))
    assert [tuple(s.shape[1:]) for s in symbolic] == [
        tuple(v.shape[1:]) for v in values
    ]
    assert [s.dtype for s in symbolic] == [v.dtype.name for v in values]


def test_a_graph_gives_the_eager_values(row):
    layer, inputs = built(row)
    # Grappler may reorder float32 sums of some tens of terms.
    close(tf.function(lambda x: layer(x))(inputs), layer(inputs), 1e-6)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "bfloat16"])
def test_bfloat16_is_near_float32(row, policy):
    layer, inputs = built(row)
    half = row[0](dtype=policy)
    half(inputs)
    half.set_weights(layer.get_weights())
    expected, actual = layer(inputs), half(inputs)
    for a, b in zip(tf.nest.flatten(actual), tf.nest.flatten(expected)):
        assert a.dtype == ("float32" if "softmax" in half.name else "bfloat16")
        # bfloat16 has 8 bits: a relative 2⁻⁸ in each of some tens of operations.
        error = np.abs(np.asarray(a, "float32") - b.numpy()).max()
        assert error <= 0.05 * max(1.0, np.abs(b).max())


def test_gradients_reach_every_trainable_weight_and_are_finite(row):
    layer, inputs = built(row)
    with tf.GradientTape() as tape:
        outputs = tf.nest.flatten(layer(inputs, training=True))
        loss = tf.add_n([tf.reduce_sum(tf.sin(x)) for x in outputs])
    weights = [w for w in layer.trainable_weights if "softmax" not in w.path]
    gradients = tape.gradient(loss, [w.value for w in weights])
    for weight, gradient in zip(weights, gradients):
        gradient = tf.convert_to_tensor(gradient)
        assert np.isfinite(gradient).all() and np.any(gradient), weight.path


def test_a_saved_model_gives_the_same(row, tmp_path):
    layer, inputs = built(row)
    module = tf.Module()
    module.layer = layer
    signature = tf.TensorSpec([None, None, *inputs.shape[2:]], inputs.dtype)
    if inputs.shape.rank == 4:
        signature = tf.TensorSpec([None, 3, None, DIM], inputs.dtype)
    module.run = tf.function(lambda x: layer(x), input_signature=[signature])
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    close(loaded.run(inputs), module.run(inputs))


def test_the_mask_is_passed_on(row):
    layer, inputs = built(row)
    if inputs.shape.rank == 4:
        inputs, mask = [tf.identity(x) for x in tf.unstack(inputs, axis=1)], MASK
        for x in inputs:
            x._keras_mask = MASK
    elif inputs.dtype == tf.float32:
        inputs, mask = tf.identity(inputs), MASK
        inputs._keras_mask = MASK
    elif getattr(layer, "keep_sentence_boundaries", False):
        mask = tf.sequence_mask(LENGTHS + 2)
    else:
        mask = MASK
    for output in tf.nest.flatten(layer(inputs)):
        np.testing.assert_array_equal(output._keras_mask, mask)


def test_two_replicas_give_what_one_gives(row):
    make, inputs = row
    one, _ = built(row)
    strategy = tf.distribute.MirroredStrategy(
        ["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    with strategy.scope():
        two = make()
        two(inputs)
    for weight, value in zip(two.weights, one.get_weights()):
        weight.assign(value)

    def step(layer, inputs):
        with tf.GradientTape() as tape:
            outputs = layer(inputs)
            loss = tf.add_n(
                [tf.reduce_sum(tf.sin(x)) for x in tf.nest.flatten(outputs)]
            )
        weights = [w for w in layer.trainable_weights if "softmax" not in w.path]
        gradients = tape.gradient(loss, [w.value for w in weights])
        return outputs, [tf.convert_to_tensor(gradient) for gradient in gradients]

    def distribute(context):
        return inputs[context.replica_id_in_sync_group :: 2]

    halves = strategy.experimental_distribute_values_from_function(distribute)
    outputs, gradients = tf.function(
        lambda x: strategy.run(lambda y: step(two, y), args=(x,))
    )(halves)
    expected_outputs, expected_gradients = step(one, inputs)
    for output, expected in zip(*map(tf.nest.flatten, (outputs, expected_outputs))):
        for i, half in enumerate(strategy.experimental_local_results(output)):
            close(half, expected[i::2], 1e-6)
    for gradient, expected in zip(gradients, expected_gradients):
        total = strategy.reduce("sum", gradient, axis=None)
        # A sum over the batch, in another order.
        close(total, expected, 1e-5 * max(1.0, np.abs(expected).max()))
