"""Random CRFs, the same in each run of a test, and all tag sequences of a sentence."""

import itertools

import numpy as np

from elmo_keras.heads.tagger.decoding import Crf

TAGS = ["B-X", "I-X", "O"]
N_TAGS = len(TAGS)
LENGTHS = np.array([5, 1, 0, 4, 2])
MASK = np.arange(5) < LENGTHS[:, None]


def random_crf(dtype="float64", scale=0.5):
    shapes = (N_TAGS, N_TAGS), (N_TAGS,), (N_TAGS,)
    return Crf(
        *((scale * np.random.normal(size=shape)).astype(dtype) for shape in shapes)
    )


def random_scores(*shape):
    return np.random.normal(size=(*shape, N_TAGS)) * 2


def by_hand(crf, scores, length):
    """All tag sequences of a sentence with their scores, straight from the equation."""
    sequences = list(itertools.product(range(N_TAGS), repeat=length))
    totals = [
        (crf.first[y[0]] + crf.last[y[-1]] if y else 0)
        + sum(scores[t, tag] for t, tag in enumerate(y))
        + sum(crf.transitions[pair] for pair in itertools.pairwise(y))
        for y in sequences
    ]
    return np.reshape(sequences, (len(totals), length)), np.array(totals)
