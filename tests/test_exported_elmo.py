"""The layer that puts an export into a Keras 3 model."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from exported import SENTENCES, STRINGS, padded, tagger

from elmo_keras.saved_model import ExportedElmo
from export.saved_model import ExportOptions
from export.version_directory import export_elmo


@pytest.mark.slow
@pytest.mark.parametrize("trainable", ["mix", "all"])
def test_our_layer_trains_saves_and_loads(
    exported_version, exported_elmo, check, tmp_path, trainable
):
    if trainable == "all":
        options = ExportOptions(trainable="all")
        exported_version = export_elmo(exported_elmo, tmp_path, options, warmup=False)
    layer = ExportedElmo(exported_version)
    check("ExportedElmo", layer(tf.constant(SENTENCES)).numpy())
    check("ExportedElmo, tokens", layer(padded()["tokens"]).numpy())
    model = tagger(layer)
    model.compile("adam", "mse")
    before = [np.copy(w) for w in layer.get_weights()]
    data = tf.data.Dataset.from_tensors((tf.constant(SENTENCES), tf.ones((4, 3))))
    model.fit(data, shuffle=False, verbose=0)
    changed = [not np.array_equal(b, w) for b, w in zip(before, layer.get_weights())]
    assert changed == [w.trainable for w in layer.weights]
    assert sum(changed) == (2 if trainable == "mix" else len(exported_elmo.weights))
    assert len(model.losses) == 1
    model.save(tmp_path / "tagger.keras")
    loaded = keras.models.load_model(tmp_path / "tagger.keras")
    sentences = tf.constant(SENTENCES)
    np.testing.assert_array_equal(
        loaded.predict(sentences, verbose=0), model.predict(sentences, verbose=0)
    )


def test_our_layer_passes_a_mask_on(exported_version):
    mask = tf.sequence_mask([4, 2, 0, 1])
    sentences, tokens = ExportedElmo(exported_version), ExportedElmo(exported_version)
    np.testing.assert_array_equal(sentences.compute_mask(tf.constant(SENTENCES)), mask)
    np.testing.assert_array_equal(tokens.compute_mask(padded()["tokens"]), mask)
    whole = ExportedElmo(exported_version, output_key="default")
    assert whole.compute_mask(tf.constant(SENTENCES)) is None


def test_what_is_no_export_is_refused(exported_version, tmp_path):
    with pytest.raises(ValueError, match="the folder of an exported version"):
        ExportedElmo(tmp_path)
    with pytest.raises(ValueError, match="`output_key` should be one of"):
        ExportedElmo(exported_version, output_key="top")
    tf.saved_model.save(tf.Module(), str(tmp_path))
    with pytest.raises(ValueError, match="that `python -m export` wrote"):
        ExportedElmo(tmp_path)


def gradients_over(strategy, exported_version):
    """Gradients of the mix over four sentences, shared out among replicas."""
    with strategy.scope():
        layer = ExportedElmo(exported_version)
        model = keras.Model(entry := keras.Input(**STRINGS), layer(entry))
    parts = np.array_split(SENTENCES, strategy.num_replicas_in_sync)
    sentences = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(parts[context.replica_id_in_sync_group])
    )

    @tf.function
    def step(sentences):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(sentences) ** 2)
        weights = [v.value for v in model.trainable_weights]
        gradients = tape.gradient(loss, weights)
        context = tf.distribute.get_replica_context()
        gradients = context.all_reduce("sum", gradients)
        for weight, gradient in zip(model.trainable_weights, gradients):
            weight.assign_sub(0.01 * gradient)

    strategy.run(step, args=(sentences,))
    return [w.numpy() for w in model.trainable_weights]


@pytest.mark.slow
def test_our_layer_under_two_replicas_trains_as_under_one(exported_version):
    two = tf.distribute.MirroredStrategy(
        ["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    one = tf.distribute.OneDeviceStrategy("CPU:0")
    start = [v.numpy() for v in ExportedElmo(exported_version).trainable_weights]
    actual, wanted = (
        gradients_over(two, exported_version),
        gradients_over(one, exported_version),
    )
    assert len(actual) == len(wanted) == 2
    for first, a, b in zip(start, actual, wanted):
        np.testing.assert_allclose(a, b, rtol=1e-5)
        assert np.all(first != a)
