"""A part-of-speech tagger on real text with the published fixture's biLM."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo
from elmo_keras.tasks.tag.tagged_text import read_conllu

pytestmark = pytest.mark.slow

TAGS = (
    "PAD ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
)
TAGS = TAGS.split()


def test_a_frozen_bilm_stays_and_the_mix_learns(data, tmp_path, capsys):
    keras.utils.set_random_seed(0)
    sentences = read_conllu(data("en_ewt/en_ewt-ud-train.conllu"))[:200]
    tokens = tf.ragged.constant([s["tokens"] for s in sentences]).to_tensor()
    tags = [[*map(TAGS.index, s["tags"])] for s in sentences]
    tags = tf.ragged.constant(tags).to_tensor()
    elmo = Elmo.from_pretrained(
        data("fixtures/bilm-tf/options.json"),
        data("fixtures/bilm-tf/lm_weights.hdf5"),
        dropout=0.1,
    )
    entry = keras.Input((None,), dtype="string")
    output = keras.layers.Dense(len(TAGS), activation="softmax")(elmo(entry))
    model = keras.Model(entry, output)
    model.compile(
        keras.optimizers.Adam(0.1),
        "sparse_categorical_crossentropy",
        weighted_metrics=["accuracy"],
    )
    before = [np.copy(w) for w in elmo.bilm.get_weights()]
    mix = [np.copy(w) for w in elmo.mixes[0].get_weights()]
    weights = tf.cast(tags > 0, tf.float32)
    dataset = tf.data.Dataset.from_tensor_slices((tokens, tags, weights)).batch(16)
    history = model.fit(dataset, epochs=3, shuffle=False, verbose=0).history

    for a, b in zip(before, elmo.bilm.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(mix, elmo.mixes[0].get_weights(), strict=True):
        assert np.all(a != b)
    real = tags.numpy()[tags.numpy() > 0]
    most_frequent = np.bincount(real).max() / len(real)
    accuracy = history["accuracy"][-1]
    layer_weights = np.asarray(elmo.mixes[0].layer_weights())
    with capsys.disabled():
        print(
            f"\nPOS of {len(real)} tokens: accuracy in training {accuracy:.3f} "
            f"(most frequent tag {most_frequent:.3f}), mix {layer_weights.round(4)}"
        )
    assert accuracy > most_frequent + 0.1

    model.save(tmp_path / "tagger.keras")
    loaded = keras.models.load_model(tmp_path / "tagger.keras")
    expected = model.predict(tokens[:40], verbose=0)
    np.testing.assert_array_equal(loaded.predict(tokens[:40], verbose=0), expected)
