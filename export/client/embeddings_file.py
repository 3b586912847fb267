"""Writes the vectors of sentences to a file, completely or not at all."""

import contextlib
import errno
import itertools
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.cli.replacing import replacing
from elmo_keras.embed.journal import JournaledFile
from elmo_keras.embed.vector_files import Hdf5Output, NpyOutput, is_npy

COMMITTED_BYTES = 2**24  # of vectors held in memory before they are written


def write_embeddings(
    path: Path, sentences: Sequence[Sequence[str]], vectors: Iterable[np.ndarray]
) -> None:
    """Writes the vectors of sentences.

    A `.hdf5` or `.h5` file has the layout of `allennlp elmo`: the dataset `"i"` holds the
    array of sentence i, and `sentence_to_index` a JSON object sentence → `"i"`, with
    the last index of a repeated sentence. A `.npy` file holds one vector for each
    sentence, `(sentences, vector)`.

    Args:
        path: ends in `.hdf5`, `.h5` or `.npy`, in upper or lower case.
        sentences: the tokens of each sentence.
        vectors: one array for each sentence.

    Raises:
        ValueError: the file is a `.npy`, and an array is not a vector.
        OSError: the file can't be written. Nothing is left of it.
    """
    batches = _batches(vectors)
    first = next(batches)
    with replacing(path) as temporary, _journaled(path) as file:
        output = _output(file, first[0], is_npy(path))
        if is_npy(path):
            _check_space(path.parent, len(sentences) * first[0].nbytes)
        output.begin({})
        done = 0
        for batch in itertools.chain([first], batches):
            output.write(np.arange(done, done + len(batch)), batch)
            file.commit(None)
            done += len(batch)
        index = {" ".join(tokens): str(i) for i, tokens in enumerate(sentences)}
        output.finish(done, index)
        file.commit(None)
        os.replace(file.path, temporary)


def _batches(vectors) -> Iterator[list[np.ndarray]]:
    """Lists of arrays of about `COMMITTED_BYTES`."""
    batch, size = [], 0
    for array in vectors:
        batch.append(array)
        size += array.nbytes
        if size >= COMMITTED_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _output(file, array, is_npy):
    if not is_npy:
        return Hdf5Output(file)
    if array.ndim != 1:
        raise ValueError(
            "A .npy holds one vector a sentence, such as the output 'default'. "
            f"Received: the shape {array.shape}"
        )
    return NpyOutput(file, array.shape, array.dtype, n_shards=1)


def _check_space(folder, n_bytes):
    """Fails before the rest is computed, if the size is known and there is no room."""
    if shutil.disk_usage(folder).free < n_bytes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextlib.contextmanager
def _journaled(path) -> Iterator[JournaledFile]:
    """A file in a temporary folder beside the path.

    HDF5 ends the process when a write fails, and so does the system for a mapped
    array: neither writes to the disk itself.
    """
    folder = path.with_name(f".{path.name}.unfinished")
    shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
    folder.mkdir()
    try:
        with contextlib.closing(JournaledFile(folder)) as file:
            yield file
    finally:
        shutil.rmtree(folder, ignore_errors=True)
