"""The character n-grams of a text, as rows of a matrix that are found by hashing.

A text is its tokens between single spaces. Each sequence of 1 to 5 of its characters
has the row `(h ^ h >> 15) mod rows`, where h is the hash FNV-1a, 32 bits, of their code
points. NumPy, TensorFlow and the live page find the same rows.
"""

from collections.abc import Sequence

import numpy as np

LONGEST, SEED, PRIME, MASK = 5, 2166136261, 16777619, 2**32 - 1


def ngram_rows(tokens: Sequence[str], n_rows: int) -> np.ndarray:
    """The row of each n-gram of a text.

    >>> sorted(ngram_rows(["a"], 1000).tolist())
    [248, 429, 787, 868, 958, 958]
    """
    text = f" {' '.join(tokens)} "
    characters = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    hashed, rows = np.full(len(characters), SEED, np.uint32), []
    for n in range(min(LONGEST, len(characters))):
        hashed = (hashed[: len(characters) - n] ^ characters[n:]) * np.uint32(PRIME)
        rows.append((hashed ^ hashed >> 15) % n_rows)
    return np.concatenate(rows)


def ngram_scores(kernel: np.ndarray, texts: Sequence[Sequence[str]]) -> np.ndarray:
    """The scores of `NgramScores`: `(texts, labels)`."""
    rows = [ngram_rows(tokens, len(kernel)) for tokens in texts]
    return np.array([kernel[r].sum(axis=0) / np.float32(len(r) ** 0.5) for r in rows])
