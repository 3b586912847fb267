"""What taggers and classifiers compute in NumPy, over flat sentences.

A sentence has the same results alone and in any batch, to the last bit: products are
sums of whole numbers, which float32 holds exactly in any order.
"""

from typing import NamedTuple

import numpy as np

from elmo_keras.formats.quantise import quantise

_TINY = 1e-30  # scale of a row of zeros


class Quantized:
    """A matrix in int8 with a scale for each column; a product rounds its rows to int8.

    Sums of up to 1,040 products stay below 2²⁴, the largest whole number up to which
    float32 is exact.
    """

    def __init__(self, weights: np.ndarray):
        values, scales = quantise(weights, 0)
        self.values, self.scale = values.astype(np.float32), scales[0]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """`(rows, in)` → `(rows, out)`."""
        scale = np.maximum(np.abs(x).max(axis=1, keepdims=True, initial=0), _TINY) / 127
        return (np.rint(x / scale) @ self.values) * (scale * self.scale)


class Crf(NamedTuple):
    """The weights A `(tags, tags)`, a and b of `LinearChainCRF`, very low where forbidden."""

    transitions: np.ndarray
    first: np.ndarray
    last: np.ndarray

    def decode(
        self, scores: np.ndarray, lengths: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The best tags of flat sentences `(tokens, tags)`, and how likely they are.

        Returns int `(tokens,)`, and the probabilities of each tag alone and after the tag
        of the token before, with α and β as in `tasks.tag.tag_spans.crf_marginals`.
        """
        steps = list(_steps(lengths))
        likelihoods = np.exp(scores - scores.max(axis=1, keepdims=True))
        transitions, alphas = np.exp(self.transitions), np.empty_like(scores)
        alpha, pointers = np.exp(self.first)[None], np.zeros(scores.shape, np.int32)
        # The best paths end at `ends`, once their last token was read.
        ends = np.zeros((len(lengths), scores.shape[1]), np.float32)
        for step, tokens in enumerate(steps):
            x, n = scores[tokens], len(tokens)
            if step:
                paths = ends[:n, :, None] + self.transitions
                pointers[tokens] = paths.argmax(axis=1)
                ends[:n] = paths.max(axis=1) + x
                alpha = (alpha[:n, :, None] * transitions).sum(axis=1)
            else:
                ends[:] = x + self.first
            alpha = _normalize(alpha * likelihoods[tokens])
            alphas[tokens] = alpha
        ids = np.zeros(len(scores), np.int64)
        alone, after = np.ones((2, len(scores)), np.float32)
        tags = (ends + self.last).argmax(axis=1)
        betas = np.repeat(np.exp(self.last)[None], len(lengths), axis=0)
        for step, tokens in reversed(list(enumerate(steps))):
            rows = np.arange(len(tokens))
            tag, onwards = tags[rows], betas[rows] * likelihoods[tokens]
            ids[tokens] = tag
            both = _normalize(alphas[tokens] * betas[rows])
            alone[tokens] = both[rows, tag]
            if step:
                tags[rows] = before = pointers[tokens][rows, tag]
                after[tokens] = _normalize(transitions[before] * onwards)[rows, tag]
                betas[rows] = _normalize((transitions * onwards[:, None]).sum(axis=2))
        return ids, alone, after


def _steps(lengths):
    """The tokens of each step of flat sentences, the longest sentences first."""
    order = np.argsort(-lengths, kind="stable")
    starts, counts = (np.cumsum(lengths) - lengths)[order], lengths[order]
    for step in range(counts.max(initial=0)):
        yield starts[: np.count_nonzero(counts > step)] + step


def _normalize(x):
    return x / x.sum(axis=1, keepdims=True)


def softmax(x: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


def soft_alignment(x: np.ndarray) -> np.ndarray:
    """For each token of a text `(tokens, dim)`, the mean of all, weighted by softmax(x · x)."""
    if not len(x):
        return x
    scores = x @ x.T
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (scores @ x) / scores.sum(axis=1, keepdims=True)
