"""What taggers and classifiers compute in NumPy, over flat sentences.

A sentence has the same results alone and in any batch, to the last bit: products are
sums of whole numbers, which are exact in any order.
"""

import numpy as np

from elmo_keras.formats.quantise import quantise

_TINY = 1e-30  # scale of a row of zeros
_EXACT = 2**24 // 127**2  # products of int8 whose sum float32 holds exactly


class Quantized:
    """A matrix in int8 with a scale for each column; a product rounds its rows to int8."""

    def __init__(self, weights: np.ndarray):
        values, scales = quantise(weights, 0)
        self.values, self.scale = values.astype(np.float32), scales[0]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """`(rows, in)` → `(rows, out)`."""
        scale = np.maximum(np.abs(x).max(axis=1, keepdims=True, initial=0), _TINY) / 127
        x = np.rint(x / scale)
        parts = [slice(i, i + _EXACT) for i in range(0, len(self.values), _EXACT)]
        total, *others = (x[:, part] @ self.values[part] for part in parts)
        if others:
            total = np.sum([total, *others], axis=0, dtype=np.float64)
            total = total.astype(np.float32)
        return total * (scale * self.scale)


def softmax(x: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


def heated(p: np.ndarray, temperature: float, *, multi_label: bool) -> np.ndarray:
    """Probabilities of labels `(texts, labels)` whose logits are divided by a temperature."""
    if temperature == 1:
        return p
    p = p.astype(np.float64)
    with np.errstate(divide="ignore"):  # of log 0
        if multi_label:
            return 1 / (1 + np.exp((np.log(1 - p) - np.log(p)) / temperature))
        return softmax(np.log(p) / temperature)


def soft_alignment(x: np.ndarray) -> np.ndarray:
    """For each token of a text `(tokens, dim)`, the mean of all, weighted by softmax(x · x)."""
    if not len(x):
        return x
    scores = x @ x.T
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (scores @ x) / scores.sum(axis=1, keepdims=True)
