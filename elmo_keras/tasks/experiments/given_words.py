"""The words of an experiment with vectors from a file."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_keras.tasks.readers.word_vector_file import read_lower_case_vectors

WORD_DIM = 100  # of random vectors


class GivenWords(NamedTuple):
    """Words of the examples, in lower case, with their vectors from a file, if one is given."""

    dim: int
    words: tuple[str, ...] = ()
    vectors: np.ndarray | None = None

    @property
    def settings(self) -> dict[str, int | str | None]:
        digest = None
        if self.words:
            content = "\n".join(self.words).encode() + self.vectors.tobytes()
            digest = hashlib.sha256(content).hexdigest()[:16]
        return {"word_dim": self.dim, "word_vectors": digest}


def read_given_words(
    path: Path | None, sentences: Sequence[Sequence[str]], word_dim: int | None
) -> GivenWords:
    """The words of sentences in the file of --word-vectors; prints how many there are."""
    if path is None:
        return GivenWords(WORD_DIM if word_dim is None else word_dim)
    found = read_lower_case_vectors(path, sentences)
    dim = found.vectors.shape[1]
    if word_dim not in (None, dim):
        raise ValueError(
            f"The vectors of {path} have {dim} dimensions, but --word-dim is "
            f"{word_dim}. Leave --word-dim out."
        )
    n_words = len({token.lower() for tokens in sentences for token in tokens})
    if not found.words:
        raise ValueError(
            f"{path} has none of the {n_words:,} words of the examples. Give vectors "
            "of words in the language of the examples."
        )
    n_found = len(found.words)
    print(f"{n_found:,} of {n_words:,} words have a vector in {path}", flush=True)
    return GivenWords(dim, *found)
