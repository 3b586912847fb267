"""Writes the vectors of sentences to a file, completely or not at all."""

import errno
import itertools
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.embed.hdf5_vectors import write_hdf5
from elmo_keras.embed.vector_files import is_npy, write_npy
from elmo_keras.text.length_batches import chunks
from elmo_keras.util.replacing import replacing

BATCH_BYTES = 2**24  # of vectors held in memory before they are written


def write_embeddings(
    path: Path, sentences: Sequence[Sequence[str]], vectors: Iterable[np.ndarray]
) -> None:
    """Writes the vectors of sentences to a `.hdf5` or `.h5`, or one of each to a `.npy`."""
    shutil.rmtree(path.with_name(f".{path.name}.unfinished"), ignore_errors=True)
    vectors = iter(vectors)
    first = next(vectors)
    batches = _batches(itertools.chain([first], vectors))
    with replacing(path) as temporary:
        if not is_npy(path):
            index = {" ".join(tokens): str(i) for i, tokens in enumerate(sentences)}
            write_hdf5(temporary, batches, about={}, sentence_to_index=index)
            return
        if first.ndim != 1:
            raise ValueError(
                "A .npy holds one vector a sentence, such as the output 'default'. "
                f"Received: the shape {first.shape}"
            )
        shape = len(sentences), *first.shape
        # Before the rest is computed.
        if shutil.disk_usage(path.parent).free < len(sentences) * first.nbytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_npy(temporary, batches, shape=shape, dtype=first.dtype)


def _batches(vectors) -> Iterator[tuple[range, list[np.ndarray]]]:
    done = 0
    for batch in chunks(vectors, BATCH_BYTES, lambda array: array.nbytes):
        yield range(done, done + len(batch)), batch
        done += len(batch)
