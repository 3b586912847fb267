"""Batches of examples, and cached layers in place of tokens."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo, Embedder
from elmo_keras.tasks.batches import Batches
from elmo_keras.tasks.layer_cache import LayerCache
from tests.support.models import randomize


def test_batches_are_a_function_of_seed_and_epoch():
    rng = np.random.default_rng(0)
    texts = [rng.choice(["a", "b", "c"], n).tolist() for n in rng.integers(1, 8, 50)]
    examples = [{"tokens": text} for text in texts]
    labels = [np.zeros(1)] * len(examples)
    batches = Batches(examples, ["tokens"], labels=labels, batch_size=8)

    def order(seed, epoch):
        dataset = batches.shuffled(seed, epoch)
        return [inputs["tokens"].numpy().tolist() for inputs, _ in dataset]

    assert order(1, 2) == order(1, 2)
    assert order(1, 2) != order(1, 3) != order(2, 2)
    flat = sorted(b" ".join(row).strip() for rows in order(1, 2) for row in rows)
    assert flat == sorted(" ".join(text).encode() for text in texts)


def test_long_texts_that_are_compared_with_themselves_have_smaller_batches():
    lengths = [9000, 5, 1024, 1025, 3000, 7] + [10] * 40
    examples = [{"context": ["a"] * (n - 1), "question": ["b"]} for n in lengths]
    fields = ["context", "question"]

    def pairs(rows):
        return len(rows) * max(lengths[i] for i in rows) ** 2

    labels = [0] * len(lengths)
    some = Batches(examples, fields, labels=labels, compares_tokens=True)
    rows = some.by_length()
    assert sorted(i for batch in rows for i in batch) == [*range(len(lengths))]
    assert rows[-1] == [0] and len(rows[0]) == 32
    assert all(pairs(batch) <= 2**25 for batch in rows[:-1])
    sizes = [len(labels) for _, labels in some.shuffled(0, 0)]
    assert sorted(sizes) == sorted(map(len, rows))
    plain = Batches(examples, fields).by_length()
    assert max(pairs(batch) for batch in plain) > 2**29


def test_labels_and_integers_are_padded():
    examples = [{"words": ["a", "b"], "marks": [0, 1]}, {"words": [], "marks": []}]
    labels = [np.array([[1, 2]]), np.array([[3, 4], [5, 6]])]
    some = Batches(examples, ["words"], ["marks"], labels=labels)
    inputs = some.inputs([0, 1])
    assert inputs["words"].numpy().tolist() == [[b"a", b"b"], [b"", b""]]
    assert inputs["marks"].numpy().tolist() == [[0, 1], [0, 0]]
    targets = some.targets([0, 1]).numpy()
    assert targets.tolist() == [[[1, 2], [-1, -1]], [[3, 4], [5, 6]]]
    assert [inputs["words"].shape[0] for inputs, _ in some.shuffled(0, 0)] == [2]


def elmo_layer(config, **arguments):
    elmo = Elmo(config, **arguments)
    elmo.build()
    return randomize(elmo)


def test_layers_take_the_place_of_tokens(config, eagerly):
    sentences = tf.constant([["ein", "und", ""], ["der", "war", "eine"]])
    elmo = elmo_layer(config, num_representations=2, layer_norm=True)
    layers = elmo.all_layers(sentences)
    for one, other in zip(elmo(sentences), elmo(layers)):
        np.testing.assert_array_equal(one, other)
    masks = elmo.compute_mask(layers)
    assert masks[0].numpy().tolist() == [[True, True, False], [True] * 3]
    bounded = elmo_layer(config, keep_sentence_boundaries=True)
    layers = bounded.all_layers(sentences)
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
    embedder = Embedder(elmo, layers="all")
    cache = LayerCache(embedder, sentences, tmp_path)
    assert not list(tmp_path.iterdir())
    # Products of other sizes are summed in another order.
    np.testing.assert_allclose(cache(sentences), elmo.all_layers(sentences), atol=1e-6)
    assert cache([["der", "war"]]).shape == (1, 3, 2, 10)
    empty = LayerCache(embedder, [])
    assert empty([]).shape == (0, 3, 0, 10)
