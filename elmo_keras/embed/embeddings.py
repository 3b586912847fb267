"""Reads files of vectors."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import tensorflow as tf

from elmo_keras.embed.vector_files import (
    N_SENTENCES,
    SENTENCE_TO_INDEX,
    is_npy,
    is_parquet,
)


class Embeddings(Sequence):
    """The vectors of sentences in the order of the text, read when they are used.

    `len(embeddings)`, `embeddings[i]`, iteration; `with` closes the files.

    Args:
        parts: the readers of n files; file i holds the sentences i, i + n, …

    Attributes:
        attributes: what the first file says about its vectors; empty for `.npy`.
    """

    def __init__(self, parts: Sequence[Any]):
        self._parts = parts
        self.attributes = parts[0].attributes

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts)

    def __getitem__(self, i: int) -> np.ndarray:
        """The vectors of a sentence `(…, tokens, dim)`, or its mean `(…, dim)`."""
        if not -len(self) <= i < len(self):
            raise IndexError(f"There are {len(self)} sentences. Received: {i}")
        i %= len(self)
        return self._parts[i % len(self._parts)].of(i, i // len(self._parts))

    def dataset(self) -> tf.data.Dataset:
        """A dataset with one element per sentence; None in its shape is for the tokens."""
        if not len(self):
            raise ValueError("There are no sentences, so the shape is unknown.")
        first = self[0]
        shape = list(first.shape)
        if self._parts[0].has_tokens:
            shape[-2] = None
        spec = tf.TensorSpec(shape, first.dtype)
        return tf.data.Dataset.from_generator(lambda: iter(self), output_signature=spec)

    def __enter__(self) -> "Embeddings":
        return self

    def __exit__(self, *_):
        for part in self._parts:
            part.close()


def read_embeddings(path: str | Path) -> Embeddings:
    """Reads a file that `embed_corpus` or `allennlp elmo` wrote.

    Args:
        path: the file; or the name without `.i-of-n`, to read all shards as one.

    Raises:
        FileNotFoundError: there is no such file, or a shard is missing; the message
            names it.
        ValueError: the file has another format.

    libhdf5 reads these files, and one that is made to harm can crash it: read only
    files whose origin you trust. (Weights are read without libhdf5.)
    """
    path = Path(path)
    paths = [path] if path.exists() else list(_shards(path))
    return Embeddings([_open(path) for path in paths])


def _open(path):
    if is_npy(path):
        return _NpyPart(path)
    if not is_parquet(path):
        return _Hdf5Part(path)
    # pyarrow is imported only for Parquet.
    from elmo_keras.embed.parquet_rows import ParquetPart

    return ParquetPart(path)


def _shards(path) -> Iterator[Path]:
    pattern = rf"{re.escape(path.stem)}\.(\d+)-of-(\d+){re.escape(path.suffix)}"
    found = {
        tuple(map(int, match.groups())): other
        for other in path.parent.glob("*")
        if (match := re.fullmatch(pattern, other.name))
    }
    if not found:
        raise FileNotFoundError(
            f"There is no file {path}, and there are no shards of it."
        )
    count, *others = {count for _, count in found}
    if others:
        raise FileNotFoundError(
            f"The shards of {path} should all be `.i-of-n` for one n. Found: "
            f"{sorted(other.name for other in found.values())}"
        )
    for i in range(1, count + 1):
        if (i, count) not in found:
            raise FileNotFoundError(f"Shard {i} of {count} of {path} is missing.")
        yield found[i, count]


class _Hdf5Part:
    has_tokens = True

    def __init__(self, path):
        try:
            self._file, self._path = h5py.File(path, "r"), path
        except (OSError, RuntimeError) as error:
            raise ValueError(f"{path} should be an HDF5 file. {error}") from error
        self.attributes = dict(self._file.attrs)
        others = SENTENCE_TO_INDEX in self._file
        self._length = self.attributes.get(N_SENTENCES, len(self._file) - others)

    def __len__(self):
        return int(self._length)

    def of(self, sentence, _):
        name = str(sentence)
        try:
            return _own_dataset(self._file, name)[()]
        except (KeyError, OSError, RuntimeError, TypeError, ValueError) as error:
            raise ValueError(
                f"{self._path} should hold the vectors `{name}`. {error}"
            ) from error

    def close(self):
        self._file.close()


def open_npy(path: Path) -> np.ndarray:
    """The array in a `.npy` file, read when it is used."""
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path}.") from None
    except Exception as error:  # numpy also raises those of tokenize and ast
        raise ValueError(f"{path} should be a .npy file. {error}") from error
    if array.dtype.kind != "f" or array.ndim < 2:
        raise ValueError(f"{path} should hold one array of vectors.")
    return array


def _own_dataset(file, name):
    """A dataset of floats; one whose values are in another file is refused."""
    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise ValueError("It is missing, or a link to somewhere else.")
    dataset = file[name]
    if not isinstance(dataset, h5py.Dataset) or dataset.dtype.kind != "f":
        raise ValueError("It should be an array of floats.")
    if dataset.external or dataset.is_virtual:
        raise ValueError("Its values are in another file.")
    return dataset


class _NpyPart:
    has_tokens = False

    def __init__(self, path):
        self._array = open_npy(path)
        self.attributes = {}

    def __len__(self):
        return len(self._array)

    def of(self, _, row):
        return np.array(self._array[row])

    def close(self):
        del self._array
