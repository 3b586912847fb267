"""Batches of vectors with a mask, for layers that ignore padding."""

import numpy as np

LENGTHS = [3, 0, 5, 1]


def masked_batch(dim, seed=0):
    """Vectors (4, 5, dim), with large numbers at padding, and their mask."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(len(LENGTHS), max(LENGTHS), dim)).astype("float32")
    mask = np.arange(max(LENGTHS)) < np.array(LENGTHS)[:, None]
    return np.where(mask[..., None], x, 1e3 * np.sign(x)), mask


def softmax(x):
    """Softmax over the last axis, in NumPy."""
    powers = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
