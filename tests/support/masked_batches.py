"""Batches of vectors with a mask, for layers that ignore padding."""

import numpy as np

LENGTHS = [3, 0, 5, 1]


def masked_batch(dim):
    """Vectors (4, 5, dim), with large numbers at padding, and their mask."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(len(LENGTHS), max(LENGTHS), dim)).astype("float32")
    mask = np.arange(max(LENGTHS)) < np.array(LENGTHS)[:, None]
    return np.where(mask[..., None], x, 1e3 * np.sign(x)), mask
