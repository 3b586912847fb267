"""Reads files of vectors."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elmo_keras.embed.vector_files import is_npy, is_parquet

if TYPE_CHECKING:
    import tensorflow as tf


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

    def dataset(self) -> "tf.data.Dataset":
        """A dataset with one element per sentence; None in its shape is for the tokens."""
        import tensorflow as tf

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
    # h5py and pyarrow are imported only for their files.
    if is_parquet(path):
        from elmo_keras.embed.parquet_rows import ParquetPart

        return ParquetPart(path)
    from elmo_keras.embed.hdf5_vectors import Hdf5Part

    return Hdf5Part(path)


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


def open_npy(path: Path) -> np.ndarray:
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path}.") from None
    except Exception as error:  # numpy also raises those of tokenize and ast
        raise ValueError(f"{path} should be a .npy file. {error}") from error
    if array.dtype.kind != "f" or array.ndim < 2:
        raise ValueError(f"{path} should hold one array of vectors.")
    return array


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
