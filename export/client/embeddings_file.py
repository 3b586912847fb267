"""Writes the vectors of sentences to a file, completely or not at all."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import h5py
import numpy as np

from elmo_keras.cli.replacing import replacing
from elmo_keras.embed.vector_files import is_npy


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
        OSError: the file can't be written.
    """
    write = _write_npy if is_npy(path) else _write_hdf5
    with replacing(path) as temporary:
        write(temporary, sentences, vectors)


def _write_hdf5(path, sentences, vectors):
    with h5py.File(path, "w") as file:
        for i, array in enumerate(vectors):
            file[str(i)] = array
        index = {" ".join(tokens): str(i) for i, tokens in enumerate(sentences)}
        text = h5py.string_dtype()
        file.create_dataset("sentence_to_index", (1,), text)[0] = json.dumps(index)


def _write_npy(path, sentences, vectors):
    rows = None
    for i, vector in enumerate(vectors):
        if vector.ndim != 1:
            raise ValueError(
                "A .npy holds one vector a sentence, such as the output 'default'. "
                f"Received: the shape {vector.shape}"
            )
        if rows is None:
            shape = len(sentences), len(vector)
            rows = np.lib.format.open_memmap(path, "w+", vector.dtype, shape)
        rows[i] = vector
    rows.flush()
