"""Vectors of known words, stored instead of computed."""

import keras
import numpy as np
import tensorflow as tf

# Random odd factors. If two rows have the same key, only one of them is found.
_FACTORS = np.random.default_rng(0).integers(2**62, size=256) * 2 + 1


@keras.saving.register_keras_serializable("elmo_keras")
class TokenCache(keras.layers.Layer):
    """Stores the context-independent vectors x of known words.

    All character ids of a word are compared, so that no word gets the vector of another.
    There is no lookup table: core operations search for each word's key in a sorted array.
    A call takes int32 character ids `(words, characters)`. It returns the vectors
    `(words, projection_dim)`, arbitrary for unknown words, and whether each is known.
    """

    def __init__(self, n_words, projection_dim, **kwargs):
        super().__init__(**kwargs | {"trainable": False})
        self.n_words = n_words
        self.projection_dim = projection_dim

    def build(self, input_shape):
        def constant(name, shape, value=0, *, dtype):
            value = keras.initializers.Constant(value)
            fixed = {"trainable": False, "autocast": False, "name": name}
            return self.add_weight(shape, value, dtype, **fixed)

        shape = (self.n_words, input_shape[-1])
        self.keys = constant("keys", shape[:1], dtype="int64")
        self.ids = constant("ids", shape, -1, dtype="int32")  # the ids of no word
        shape = (self.n_words, self.projection_dim)
        self.vectors = constant("vectors", shape, dtype=self.variable_dtype)

    def fill(self, ids, vectors):
        """Stores the vectors `(n_words, projection_dim)` of the ids of distinct words."""
        ids = np.asarray(ids)
        keys = _keys(ids).numpy()
        order = np.argsort(keys)
        self.keys.assign(keys[order])
        self.ids.assign(ids[order])
        self.vectors.assign(tf.gather(tf.convert_to_tensor(vectors), order))

    def call(self, inputs):
        ids = tf.convert_to_tensor(inputs)
        keys, known_ids = self.keys.value, self.ids.value
        places = tf.minimum(tf.searchsorted(keys, _keys(ids)), self.n_words - 1)
        known = tf.reduce_all(tf.gather(known_ids, places) == ids, axis=1)
        vectors = tf.gather(self.vectors.value, places)
        return tf.cast(vectors, self.compute_dtype), known


def _keys(ids):
    """One int64 for each row of ids: (words,)."""
    factors = tf.constant(np.resize(_FACTORS, ids.shape[1]), tf.int64)
    return tf.reduce_sum(tf.cast(ids, tf.int64) * factors, axis=1)  # wraps around
