"""Files of vectors, read back."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from elmo_keras.embedding.output import N_SENTENCES, SENTENCE_TO_INDEX, is_npy
from elmo_keras.model_directory import open_hdf5


class Embeddings(Sequence):
    """The vectors of sentences in the order of the text, read when asked for.

    `len(embeddings)`, `embeddings[i]`, iteration; `with` closes the files.

    Args:
        parts: the files, of which number i holds the sentences i, i + n, …

    Attributes:
        attributes: what the first file says about itself; empty for `.npy`.
    """

    def __init__(self, parts: Sequence["_Hdf5Part | _NpyPart"]):
        self._parts = parts
        self.attributes = parts[0].attributes

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts)

    def __getitem__(self, i: int) -> np.ndarray:
        """The vectors of a sentence, `(…, tokens, dim)` or of a mean `(…, dim)`."""
        if not -len(self) <= i < len(self):
            raise IndexError(f"There are {len(self)} sentences. Asked for: {i}")
        i %= len(self)
        return self._parts[i % len(self._parts)].of(i, i // len(self._parts))

    def dataset(self) -> tf.data.Dataset:
        """A dataset with an element for each sentence; None in its shape is tokens.

        Raises:
            ValueError: there is no sentence, so that the shape is not known.
        """
        if not len(self):
            raise ValueError("There are no sentences, and so no shape of a dataset.")
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
    """What `embed_corpus` wrote, or `allennlp elmo` with all layers or one.

    Args:
        path: the file; or its name without `.i-of-n`, and all shards are read as
            one.

    Raises:
        FileNotFoundError: there is no such file, or a shard is missing; the message
            names it.
        ValueError: it is no such file.
    """
    path = Path(path)
    paths = [path] if path.exists() else list(_shards(path))
    return Embeddings([_open(path) for path in paths])


def _open(path):
    return _NpyPart(path) if is_npy(path) else _Hdf5Part(path)


def _shards(path) -> Iterator[Path]:
    pattern = rf"{re.escape(path.stem)}\.(\d+)-of-(\d+){re.escape(path.suffix)}"
    found = {
        tuple(map(int, match.groups())): other
        for other in path.parent.glob("*")
        if (match := re.fullmatch(pattern, other.name))
    }
    counts = {count for _, count in found}
    if len(counts) != 1:
        raise FileNotFoundError(
            f"There is no file {path}, nor its shards."
            if not counts
            else f"The shards of {path} should be of one division. Found: "
            f"{sorted(other.name for other in found.values())}"
        )
    (count,) = counts
    for i in range(1, count + 1):
        if (i, count) not in found:
            raise FileNotFoundError(f"Shard {i} of {count} of {path} is missing.")
        yield found[i, count]


class _Hdf5Part:
    has_tokens = True

    def __init__(self, path):
        self._file = open_hdf5(path)
        self.attributes = dict(self._file.attrs)
        others = SENTENCE_TO_INDEX in self._file
        self._length = self.attributes.get(N_SENTENCES, len(self._file) - others)

    def __len__(self):
        return int(self._length)

    def of(self, sentence, _):
        return self._file[str(sentence)][()]

    def close(self):
        self._file.close()


class _NpyPart:
    has_tokens = False

    def __init__(self, path):
        self._array = np.load(path, mmap_mode="r")
        self.attributes = {}

    def __len__(self):
        return len(self._array)

    def of(self, _, row):
        return np.array(self._array[row])

    def close(self):
        del self._array
