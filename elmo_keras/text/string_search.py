"""The ids of known strings, without a table that a SavedModel would initialise."""

from collections.abc import Iterable

import numpy as np
import tensorflow as tf

N_FINGERPRINTS = 2**62


class StringSearch:
    """Finds strings by their fingerprints in a sorted array, and compares them.

    >>> search = StringSearch(["a", "word"], [1, 2], unknown=0)
    >>> search(tf.constant([["word", "other", "a"]])).numpy().tolist()
    [[2, 0, 1]]
    """

    def __init__(self, strings: Iterable[str], ids: Iterable[int], unknown: int):
        self._unknown = unknown
        with tf.init_scope():  # graphs share the tensors instead of holding copies
            keys = tf.constant(list(strings), tf.string)
            fingerprints = _fingerprints(keys).numpy()
            order = np.argsort(fingerprints, kind="stable")
            self._fingerprints = tf.constant(fingerprints[order])
            self._strings = tf.gather(keys, order)
            self._ids = tf.constant(np.array([*ids], np.int32)[order])
        # The largest number of strings with the same fingerprint.
        self._n_equal = int(
            np.unique(fingerprints, return_counts=True)[1].max(initial=0)
        )

    def __call__(self, strings: tf.Tensor) -> tf.Tensor:
        """The ids of strings of any shape, int32."""
        wanted = tf.reshape(strings, [-1])
        first = tf.searchsorted(self._fingerprints, _fingerprints(wanted))
        ids = tf.fill(tf.shape(wanted), self._unknown)
        for i in range(self._n_equal):  # strings are compared, not just fingerprints
            index = tf.minimum(first + i, tf.size(self._strings) - 1)
            known = tf.gather(self._strings, index) == wanted
            ids = tf.where(known, tf.gather(self._ids, index), ids)
        return tf.reshape(ids, tf.shape(strings))


def _fingerprints(strings):
    return tf.strings.to_hash_bucket_fast(strings, N_FINGERPRINTS)
