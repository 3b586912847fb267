"""What taggers and classifiers compute in NumPy, over flat sentences.

A sentence has the same results alone and in any batch, to the last bit: products are
sums of whole numbers, which are exact in any order.
"""

from typing import NamedTuple

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
        products = [x[:, part] @ self.values[part] for part in parts]
        total = np.sum(products, axis=0, dtype=np.float64).astype(np.float32)
        return total * (scale * self.scale)


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
        of the token before, with α and β as in `tasks.tag_spans.crf_marginals`.
        """
        order, bounds = _by_step(lengths)
        scores = np.ascontiguousarray(scores[order].T)
        likelihoods = np.exp(scores - scores.max(axis=0))
        transitions = np.exp(self.transitions)
        onto, pairs = transitions.T.copy(), self.transitions[:, :, None]
        ends, alphas, betas, afters = (np.empty_like(scores) for _ in range(4))
        # The best path and α up to a tag at each token. Divided by their maximum, as a
        # sum's rounding would depend on the number of sentences.
        end, alpha = self.first[:, None], np.exp(self.first)[:, None]
        for step, (begin, stop) in enumerate(bounds):
            if step:
                n = stop - begin
                end = (end[:, None, :n] + pairs).max(axis=0)
                alpha = (alpha[:, None, :n] * transitions[:, :, None]).sum(axis=0)
            ends[:, begin:stop] = end = end + scores[:, begin:stop]
            alpha = alpha * likelihoods[:, begin:stop]
            alphas[:, begin:stop] = alpha = alpha / alpha.max(axis=0)
        ids = np.zeros(len(order), np.int64)
        n_sentences = np.count_nonzero(lengths)
        tags = np.zeros(n_sentences, np.int64)
        beta = np.repeat(np.exp(self.last)[:, None], n_sentences, axis=1)
        n_started = 0
        for step, (begin, stop) in reversed([*enumerate(bounds)]):
            n = stop - begin
            # Sentences whose last token this is.
            last = ends[:, begin + n_started : stop] + self.last[:, None]
            tags[n_started:n], n_started = last.argmax(axis=0), n
            ids[begin:stop], betas[:, begin:stop] = tags[:n], beta[:, :n]
            if step:
                onwards = beta[:, :n] * likelihoods[:, begin:stop]
                first = bounds[step - 1][0]
                paths = ends[:, first : first + n] + self.transitions[:, tags[:n]]
                tags[:n] = before = paths.argmax(axis=0)
                afters[:, begin:stop] = onto[:, before] * onwards
                new = (onto[:, :, None] * onwards[:, None]).sum(axis=0)
                beta[:, :n] = new / new.max(axis=0)
        alone = _share(alphas * betas, ids)
        afters[:, : len(tags)] = 1
        after = _share(afters, ids)
        after[: len(tags)] = 1  # nothing is before the first tokens
        inverse = np.argsort(order)
        return ids[inverse], alone[inverse], after[inverse]


def _by_step(lengths):
    """The tokens of flat sentences by their step, those of the longest sentences first.

    And where each step begins and ends among them.
    """
    longest = np.argsort(-lengths, kind="stable")
    starts, counts = (np.cumsum(lengths) - lengths)[longest], lengths[longest]
    steps = [
        starts[: np.count_nonzero(counts > step)] + step
        for step in range(counts.max(initial=0))
    ]
    stops = np.cumsum([len(step) for step in steps], dtype=int).tolist()
    return np.concatenate(steps), [*zip([0, *stops], stops)]


def _share(x, ids):
    """Of each column, the part that one row has in the sum."""
    x = np.ascontiguousarray(x.T)
    return x[np.arange(len(ids)), ids] / x.sum(axis=1)


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
