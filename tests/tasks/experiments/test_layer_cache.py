"""The layers of a frozen biLM, and the layers given to `Elmo` instead of tokens."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo
from elmo_keras.tasks.experiments.layer_cache import LayerCache
from tests.support.models import randomize


def elmo_layer(config, **arguments):
    elmo = Elmo(config, **arguments)
    elmo.build()
    return randomize(elmo)


def test_layers_take_the_place_of_tokens(config):
    sentences = tf.constant([["ein", "und", ""], ["der", "war", "eine"]])
    elmo = elmo_layer(config, num_representations=2, layer_norm=True)
    layers = elmo.layers(sentences)
    for one, other in zip(elmo(sentences), elmo(layers)):
        np.testing.assert_array_equal(one, other)
    masks = elmo.compute_mask(layers)
    assert masks[0].numpy().tolist() == [[True, True, False], [True] * 3]
    bounded = elmo_layer(config, keep_sentence_boundaries=True)
    layers = bounded.layers(sentences)
    np.testing.assert_array_equal(bounded(layers), bounded(sentences))


def test_layers_that_do_not_fit_are_refused(config):
    layers = np.zeros((1, 3, 1, 10), "float32")
    with pytest.raises(ValueError, match="should compute its layers"):
        Elmo(config, trainable_bilm=True)(layers)
    with pytest.raises(ValueError, match=r"shape \(batch, 3, time, 10\)"):
        Elmo(config)(layers[:, :2])


def test_a_cache_holds_each_sentence_once_and_leaves_no_file(config, tmp_path):
    elmo = elmo_layer(config)
    sentences = [["ein"], [], ["der", "war"], ["ein"], ["und", "ein", "war"]]
    cache = LayerCache(elmo, sentences, tmp_path)
    assert not list(tmp_path.iterdir())
    # Products of other sizes are summed in another order.
    np.testing.assert_allclose(cache(sentences), elmo.layers(sentences), atol=1e-6)
    assert cache([["der", "war"]]).shape == (1, 3, 2, 10)
    distinct = ["ein"], ["der", "war"], ["und", "ein", "war"]
    layers = np.concatenate([elmo.layers([s])[0] for s in distinct], axis=1)
    rms = np.sqrt(np.mean(np.square(layers), axis=(1, 2)))
    np.testing.assert_allclose(cache.rms, rms, rtol=1e-5)
    empty = LayerCache(elmo, [])
    assert empty([]).shape == (0, 3, 0, 10) and empty.rms.tolist() == [0, 0, 0]
