"""Reads files of vectors."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from elmo_keras.embed.outputs import is_npy, is_parquet
from elmo_keras.embed.writers.npy import NpyReader

if TYPE_CHECKING:
    import tensorflow as tf


class Embeddings(Sequence[np.ndarray]):
    """The vectors of sentences in the order of the text, read when they are used.

    `len(embeddings)`, `embeddings[i]`, `embeddings[2:5]`, iteration; `with` closes the
    files.

    Args:
        readers: readers of n files; file i holds the sentences i, i + n, …

    Attributes:
        attributes: the metadata of the first file; empty for `.npy`.
    """

    def __init__(self, readers: Sequence[Any]):
        self._readers = readers
        self.attributes = readers[0].attributes

    def __len__(self) -> int:
        return sum(len(reader) for reader in self._readers)

    @overload
    def __getitem__(self, i: int) -> np.ndarray: ...

    @overload
    def __getitem__(self, i: slice) -> list[np.ndarray]: ...

    def __getitem__(self, i):
        """The vectors of a sentence `(…, tokens, dim)`, or its mean `(…, dim)`."""
        if isinstance(i, slice):
            return [self[index] for index in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(f"There are {len(self)} sentences. Received: {i}")
        row, file = divmod(i % len(self), len(self._readers))
        return self._readers[file].read(i % len(self), row)

    def dataset(self) -> "tf.data.Dataset":
        """A dataset with one element per sentence; None in its shape is for the tokens."""
        import tensorflow as tf

        if not len(self):
            raise ValueError("There are no sentences, so the shape is unknown.")
        first = self[0]
        shape = list(first.shape)
        if self._readers[0].has_tokens:
            shape[-2] = None
        spec = tf.TensorSpec(shape, first.dtype)
        return tf.data.Dataset.from_generator(lambda: iter(self), output_signature=spec)

    def __enter__(self) -> "Embeddings":
        return self

    def __exit__(self, *_):
        for reader in self._readers:
            reader.close()


def read_embeddings(path: str | Path) -> Embeddings:
    """Reads a file that `embed_corpus` or `allennlp elmo` wrote.

    Args:
        path: the file; or the name without `.i-of-n`, to read all shards as one.

    Raises:
        FileNotFoundError: there is no such file, or a shard is missing; the message
            names it.
        ValueError: the file has another format.

    libhdf5 reads these files, and a malicious one can crash it: read only files whose
    origin you trust. (Weights are read without libhdf5.)
    """
    path = Path(path)
    paths = [path] if path.exists() else list(_shards(path))
    return Embeddings([_open(path) for path in paths])


def _open(path):
    if is_npy(path):
        return NpyReader(path)
    # h5py and pyarrow are imported only for their files.
    if is_parquet(path):
        from elmo_keras.embed.writers.parquet import ParquetReader

        return ParquetReader(path)
    from elmo_keras.embed.writers.hdf5 import Hdf5Reader

    return Hdf5Reader(path)


def _shards(path) -> Iterator[Path]:
    pattern = rf"{re.escape(path.stem)}\.(\d+)-of-(\d+){re.escape(path.suffix)}"
    shards = {
        tuple(map(int, match.groups())): other
        for other in path.parent.glob("*")
        if (match := re.fullmatch(pattern, other.name))
    }
    if not shards:
        raise FileNotFoundError(f"There is no file {path}, nor a shard of it.")
    count, *others = {count for _, count in shards}
    if others:
        names = sorted(other.name for other in shards.values())
        raise FileNotFoundError(f"Shards of {path} should have one number n: {names}")
    for i in range(1, count + 1):
        if (i, count) not in shards:
            raise FileNotFoundError(f"Shard {i} of {count} of {path} is missing.")
        yield shards[i, count]
