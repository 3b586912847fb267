"""An export as a layer of a Keras 3 model."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import ExportedElmo
from elmo_keras.export.version_directory import export_elmo
from tests.support.exported import SENTENCES, padded, tagger


@pytest.mark.journey
@pytest.mark.parametrize("trainable", ["mix", "all"])
def test_an_exported_layer_trains_saves_and_loads(
    exported_version, exported_elmo, check, tmp_path, trainable
):
    if trainable == "all":
        options = {"trainable": "all", "warmup": False}
        exported_version = export_elmo(exported_elmo, tmp_path, **options)
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
    expected = model.predict(sentences, verbose=0)
    np.testing.assert_array_equal(loaded.predict(sentences, verbose=0), expected)


@pytest.fixture(scope="module")
def layer(exported_version):
    """One for all tests that only call it: loading takes seconds."""
    return ExportedElmo(exported_version)


def test_an_exported_layer_passes_a_mask_on(layer, monkeypatch):
    monkeypatch.setattr("elmo_keras.exported_elmo._load", lambda _: layer.loaded)
    mask = tf.sequence_mask([4, 2, 0, 1])
    for inputs in (tf.constant(SENTENCES), padded()["tokens"], padded("junk")):
        np.testing.assert_array_equal(layer.compute_mask(inputs), mask)
    default = ExportedElmo(layer.directory, output_key="default")
    assert default.compute_mask(tf.constant(SENTENCES)) is None
    with pytest.raises(ValueError, match="`output_key` should be one of"):
        ExportedElmo(layer.directory, output_key="top")


def test_tokens_and_lengths_are_given_as_to_google_elmo(layer, check):
    check("ExportedElmo, lengths", layer(padded("junk")).numpy())
    entries = {
        "tokens": keras.Input((None,), dtype="string", name="tokens"),
        "sequence_len": keras.Input((), dtype="int32", name="sequence_len"),
    }
    model = keras.Model(entries, layer(entries))
    check("ExportedElmo, lengths in a model", model.predict(padded("junk"), verbose=0))
    with pytest.raises(ValueError, match="or a dict of `tokens` and `sequence_len`"):
        layer({"tokens": tf.constant(SENTENCES), "sequence_len": [1, 1, 1, 1]})


def test_a_folder_without_an_export_is_refused(tmp_path):
    with pytest.raises(ValueError, match="the folder of an exported version"):
        ExportedElmo(tmp_path)
    tf.saved_model.save(tf.Module(), str(tmp_path))
    with pytest.raises(ValueError, match="that `elmo-keras export` wrote"):
        ExportedElmo(tmp_path)


def test_lists_arrays_and_ragged_tokens_are_taken(layer):
    expected = layer(tf.constant(["a b", "c"]))
    tokens = [["a", "b"], ["c"]]
    for inputs in (["a b", "c"], tokens, np.array(tokens, object)):
        np.testing.assert_array_equal(layer(inputs), expected)
    ragged = tf.ragged.constant(tokens)
    np.testing.assert_array_equal(layer(ragged), expected)
    np.testing.assert_array_equal(layer.compute_mask(ragged), [[1, 1], [1, 0]])


def test_other_inputs_are_refused(layer):
    for inputs in (tf.constant("a b"), tf.zeros((2, 3)), {"tokens": [["a"]]}):
        with pytest.raises(ValueError, match=r"sentences \(batch,\) or tokens .*Rec"):
            layer(inputs)
    with pytest.raises(ValueError, match=r'keras.Input\(\(\), dtype="string"\)'):
        keras.Sequential([layer])(tf.constant(["a b"]))
