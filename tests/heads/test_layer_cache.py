"""Layers that are computed once for `fit`."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo, Embedder, layers, precompute_layers
from elmo_keras.heads.layer_cache import LayerCache
from tests.support.models import randomize
from tests.support.sizes import CONFIG

TEXTS = ["The bank of the river .", "Ann sleeps", "money", "", "a b c", "A film ."]


def elmo_layer(**arguments):
    elmo = Elmo(CONFIG, **arguments)
    elmo.build()
    return randomize(elmo)


@pytest.fixture(scope="module")
def elmo():
    return elmo_layer()


@pytest.fixture(scope="module")
def embedder(elmo):
    return Embedder(elmo, layers="all")


def test_a_cache_holds_each_sentence_once_and_leaves_no_file(elmo, embedder, tmp_path):
    sentences = [["ein"], [], ["der", "war"], ["ein"], ["und", "ein", "war"]]
    cache = LayerCache(embedder, sentences, tmp_path)
    assert not list(tmp_path.iterdir())
    # Products of other sizes are summed in another order.
    np.testing.assert_allclose(cache(sentences), elmo.all_layers(sentences), atol=1e-6)
    assert cache([["der", "war"]]).shape == (1, 3, 2, 10)
    empty = LayerCache(embedder, [])
    assert empty([]).shape == (0, 3, 0, 10)


def test_layers_take_the_place_of_tokens(eagerly):
    sentences = tf.constant([["ein", "und", ""], ["der", "war", "eine"]])
    elmo = elmo_layer(num_representations=2, layer_norm=True)
    layers = elmo.all_layers(sentences)
    for actual, expected in zip(elmo(sentences), elmo(layers)):
        np.testing.assert_array_equal(actual, expected)
    masks = elmo.compute_mask(layers)
    assert masks[0].numpy().tolist() == [[True, True, False], [True] * 3]
    bounded = elmo_layer(keep_sentence_boundaries=True)
    layers = bounded.all_layers(sentences)
    np.testing.assert_array_equal(bounded(layers), bounded(sentences))


def test_layers_that_do_not_fit_are_refused(config):
    layers = np.zeros((1, 3, 1, 10), "float32")
    with pytest.raises(ValueError, match="should compute its layers"):
        Elmo(config, trainable_bilm=True)(layers)
    with pytest.raises(ValueError, match=r"shape \(batch, 3, time, 10\)"):
        Elmo(config)(layers[:, :2])


def test_layers_come_in_order_with_their_labels(embedder):
    data = precompute_layers(embedder, TEXTS, range(6), batch_size=4)
    assert int(data.cardinality()) == 2
    for _ in range(2):  # epochs
        batches = list(data)
        assert [y.numpy().tolist() for _, y in batches] == [[0, 1, 2, 3], [4, 5]]
        tokens = [text.split() for text in TEXTS]
        expected = embedder.encode(tokens[:4])
        x = batches[0][0].numpy()
        for row, array in zip(x, expected, strict=True):
            n = array.shape[1]
            np.testing.assert_allclose(row[:, :n], array, atol=1e-6)
            assert not row[:, n:].any()


def test_shuffled_epochs_have_every_text_once_in_another_order(embedder):
    options: dict = {"batch_size": 4, "shuffle": True, "seed": 1}
    one, other = (
        precompute_layers(embedder, TEXTS * 9, range(54), **options) for _ in range(2)
    )
    first, second, again = (
        np.concatenate([y for _, y in data]).tolist() for data in (one, one, other)
    )
    assert sorted(first) == sorted(second) == list(range(54))
    assert first == again != second


def test_a_model_learns_the_mix_from_layers_and_reads_texts(elmo):
    labels = [np.arange(len(text.split())) % 2 for text in TEXTS]
    data = precompute_layers(elmo, TEXTS, labels, shuffle=True, seed=0)
    (x, y), *_ = data
    assert y.shape == x.shape[:1] + x.shape[2:3] and -1 in y.numpy()
    data = precompute_layers(elmo, TEXTS, [0, 1, 0, 1, 0, 1])
    mix = Elmo(CONFIG)
    model = keras.Sequential([mix, layers.MeanPooling(), keras.layers.Dense(2)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, run_eagerly=True)  # one step needs no graph
    model.fit(data, shuffle=False, verbose=0)
    assert np.abs(mix.mixes[0].scalars.numpy()).max() > 0
    mix.bilm.set_weights(elmo.bilm.get_weights())
    from_layers = model.predict(data.map(lambda x, _: x), verbose=0)
    x = tf.strings.split(TEXTS).to_tensor()
    for layer in model.layers:
        x = layer(x)
    np.testing.assert_allclose(x, from_layers, atol=1e-5)


def test_what_does_not_fit_is_refused(embedder):
    with pytest.raises(ValueError, match="a label for each .* 6 sentences and 2"):
        precompute_layers(embedder, TEXTS, [0, 1])
    with pytest.raises(ValueError, match="Received: none"):
        precompute_layers(embedder, [])
    for labels in [0, [1]], [None, None]:
        with pytest.raises(ValueError, match="arrays of one rank"):
            precompute_layers(embedder, TEXTS[:2], labels)
    with pytest.raises(ValueError, match="sentence 1 with 1 tokens and 2 labels"):
        precompute_layers(embedder, ["a b c", "d"], [[0, 1, 0], [1, 0]])
    with pytest.raises(ValueError, match="`batch_size` should be"):
        precompute_layers(embedder, TEXTS, batch_size=0)


def test_labels_keep_what_they_hold(embedder):
    ((_, y),) = precompute_layers(embedder, TEXTS[:2], ["a", "longer"])
    assert y.numpy().tolist() == [b"a", b"longer"]
    ((_, y),) = precompute_layers(embedder, TEXTS[:2], [1, 0.7])
    np.testing.assert_allclose(y, [1, 0.7], atol=1e-6)
