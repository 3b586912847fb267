"""Both texts of pairs in one batch."""

import tensorflow as tf

from elmo_keras.tasks.layers.sentence_encoder import stacked_pair


def test_the_texts_of_pairs_become_one_batch():
    inputs = {"one": tf.constant([["a", "b"]]), "two": tf.constant([["c", "d", "e"]])}
    tokens, layers = stacked_pair(inputs, "one", "two")
    assert tokens.numpy().tolist() == [[b"a", b"b", b""], [b"c", b"d", b"e"]]
    assert layers is None
    more = {"one_layers": tf.ones((1, 3, 2, 5)), "two_layers": tf.ones((1, 3, 3, 5))}
    _, layers = stacked_pair(inputs | more, "one", "two")
    sums = tf.reduce_sum(layers, axis=(1, 3)).numpy().tolist()
    assert sums == [[15, 15, 0], [15, 15, 15]]
