"""Vectors of sentences written to a file: whole, or not at all."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import h5py
import numpy as np

from elmo_keras.replacing import replacing

ENDINGS = (".hdf5", ".npy")


def write_embeddings(
    path: Path, sentences: Sequence[Sequence[str]], vectors: Iterable[np.ndarray]
) -> None:
    """Writes the vectors of sentences.

    A `.hdf5` file is laid out as `allennlp elmo` does: the dataset `"i"` holds the
    array of sentence i, and `sentence_to_index` a JSON object of sentence → `"i"`,
    the last one where a sentence comes several times. A `.npy` file holds
    `(sentences, vector)`, and so takes one vector a sentence.

    Args:
        path: ends in `.hdf5` or `.npy`.
        sentences: their tokens.
        vectors: an array for each.

    Raises:
        ValueError: the arrays don't fit into a `.npy`.
        OSError: the file can't be written.
    """
    write = _write_npy if path.suffix == ".npy" else _write_hdf5
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
                "A .npy holds one vector a sentence, such as that of the output "
                f"'default'. Received: the shape {vector.shape}"
            )
        if rows is None:
            shape = len(sentences), len(vector)
            rows = np.lib.format.open_memmap(path, "w+", vector.dtype, shape)
        rows[i] = vector
    rows.flush()
