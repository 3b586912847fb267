"""An export as a layer of a Keras 3 model."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import ExportedElmo
from export.saved_model import ExportOptions
from export.version_directory import export_elmo
from tests.support.exported import SENTENCES, STRINGS, padded, tagger


@pytest.mark.slow
@pytest.mark.parametrize("trainable", ["mix", "all"])
def test_an_exported_layer_trains_saves_and_loads(
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


def test_an_exported_layer_passes_a_mask_on(exported_version):
    mask = tf.sequence_mask([4, 2, 0, 1])
    layer = ExportedElmo(exported_version)
    for inputs in (tf.constant(SENTENCES), padded()["tokens"]):
        np.testing.assert_array_equal(layer.compute_mask(inputs), mask)
    whole = ExportedElmo(exported_version, output_key="default")
    assert whole.compute_mask(tf.constant(SENTENCES)) is None


def test_a_folder_without_an_export_is_refused(exported_version, tmp_path):
    with pytest.raises(ValueError, match="the folder of an exported version"):
        ExportedElmo(tmp_path)
    with pytest.raises(ValueError, match="`output_key` should be one of"):
        ExportedElmo(exported_version, output_key="top")
    tf.saved_model.save(tf.Module(), str(tmp_path))
    with pytest.raises(ValueError, match="that `python -m export` wrote"):
        ExportedElmo(tmp_path)


def trained_mix(strategy, exported_version):
    """The mix after a step on four sentences that the replicas share."""
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
def test_two_replicas_train_an_exported_layer_as_one_does(exported_version):
    two = tf.distribute.MirroredStrategy(
        ["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    one = tf.distribute.OneDeviceStrategy("CPU:0")
    start = [v.numpy() for v in ExportedElmo(exported_version).trainable_weights]
    actual, wanted = (
        trained_mix(two, exported_version),
        trained_mix(one, exported_version),
    )
    assert len(actual) == len(wanted) == 2
    for first, a, b in zip(start, actual, wanted):
        np.testing.assert_allclose(a, b, rtol=1e-5)
        assert np.all(first != a)
