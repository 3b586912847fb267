"""The biLM against the NumPy oracle and the published golden vectors."""

import dataclasses
import json

import h5py
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo
from elmo_keras.layers import CharacterCNN, character_cnn
from elmo_keras.text.characters import character_ids
from tests.support import reference
from tests.support.models import published_weights, random_bilm
from tests.support.sizes import CONFIG

NO_CLIPS = {"cell_clip": None, "proj_clip": None}
SENTENCES = [
    "<S> 나는 학교에 갑니다 . </S>".split(),
    "<S> </S>".split(),
    ["<S>", "naïve", "🙂🙃", "", "Donaudampfschifffahrtsgesellschaft", "x", "</S>"],
    ["<S>", "가나다라마바사아자차", *"a b a b a b".split(), "</S>"],
]


CHANGES = {
    "skip": {},
    "no skip": {"use_skip_connections": False, "n_highway": 2, "activation": "tanh"},
    "three layers": {"n_layers": 3, **NO_CLIPS, "n_highway": 0},
    "no projection": {"projection_dim": 9, "cell_clip": 0.5, "proj_clip": 0.3},
    "cells": {"units": 5, "cell_clip": 0.5, "proj_clip": 0.1},  # no LSTM's projection
    "projected": {"units": 5, "proj_clip": 0.1, "lstm_projection": True},
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_every_layer_equals_the_oracle(config, changes):
    config = dataclasses.replace(config, **changes)
    bilm = random_bilm(config)
    tokens = tf.ragged.constant(SENTENCES)
    mask = tf.sequence_mask(tokens.row_lengths())
    layers = bilm(character_ids(tokens.to_tensor(), config), mask=mask)
    assert len(layers) == config.n_layers + 1
    weights = published_weights(bilm)
    for i, sentence in enumerate(SENTENCES):
        expected = reference.bilm_layers(sentence, weights, config)
        actual = np.array([h[i] for h in layers])
        # float32 against float64.
        np.testing.assert_allclose(actual[:, : len(sentence)], expected, atol=1e-5)
        assert not np.any(actual[:, len(sentence) :])


def test_the_published_vectors_are_reproduced_to_the_last_digit(data, capsys):
    def file(name):
        return data(f"fixtures/bilm-tf/{name}")

    sentences = json.loads(file("lm_embeddings_sentences.json").read_text())
    golden = [h5py.File(file(f"lm_embeddings_{k}.hdf5")) for k in range(3)]
    weights = file("lm_weights.hdf5")
    bilm = Elmo.from_pretrained(file("options.json"), weights=weights).bilm
    bilm.return_state = True
    state, worst, values = None, 0.0, 0
    for i in range(len(sentences[0])):
        batch = [["<S>", *column[i].split(), "</S>"] for column in sentences]
        tokens = tf.ragged.constant(batch)
        layers, state = bilm(
            character_ids(tokens.to_tensor(), bilm.config),
            mask=tf.sequence_mask(tokens.row_lengths()),
            initial_state=state,  # the fixture's state flows from batch to batch
        )
        for k, vectors in enumerate(golden):
            expected = np.concatenate(vectors[str(i)], axis=-1)
            actual = layers[-1][k, 1 : 1 + len(expected)]
            worst = max(worst, np.abs(actual - expected).max())
            values += expected.size
    with capsys.disabled():
        print(f"\n30 golden sentences, {values} values: largest difference {worst:.2e}")
    assert values > 20_000 and worst < 1e-6


def test_cutting_and_pieces_change_nothing(monkeypatch):
    cnn = CharacterCNN(((1, 2), (3, 5)), 4, 3)
    words = ["a", "", "bcde", "fghijklmn", "<S>"]
    config = CONFIG
    ids = character_ids(words, config)
    whole = cnn(ids)
    monkeypatch.setattr(character_cnn, "WORDS_AT_ONCE", 2)
    np.testing.assert_allclose(cnn(ids), whole, atol=1e-6)
    for i in range(len(words)):
        np.testing.assert_allclose(cnn(ids[i : i + 1])[0], whole[i], atol=1e-6)
