"""Sentences and their vectors in Parquet files."""

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.writers.parquet import ID, TEXT, ParquetRows, read_metadata
from elmo_keras.files import file_stamp

SAME = "model", "layers", "pooling"  # in all files of a folder


class ParquetSentences(contextlib.AbstractContextManager):
    """The rows of a Parquet file, or of all `.parquet` files of a folder.

    `sentences[first:end]` reads vectors, `(rows, dim)` in their dtype. The files are those
    that `embed_corpus` writes with `pooling`, all with vectors of the same model and size.
    """

    id_name = "id"

    def __init__(self, path: Path):
        self._path, self._paths = path, _list_files(path)
        self._rows = ParquetRows(self._paths)
        first = self._rows.schemas[0]
        self._type = _vector_type(self._paths[0], first)
        self.metadata = read_metadata(first)
        for other, schema in zip(self._paths, self._rows.schemas):
            metadata = read_metadata(schema)
            same = all(metadata.get(key) == self.metadata.get(key) for key in SAME)
            if _vector_type(other, schema) != self._type or not same:
                raise ValueError(
                    f"{other} has vectors of another model, layer, pooling or size "
                    f"than {self._paths[0]}."
                )
        self.shape = len(self._rows), self._type.list_size

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        first, end, _ = rows.indices(len(self))
        dtype = pa.array([], self._type.value_type).to_numpy().dtype
        vectors, done = np.empty((max(0, end - first), self.shape[1]), dtype), 0
        while done < len(vectors):
            group, position = self._rows.read_group(first + done, "vector")
            flat = group["vector"].flatten().to_numpy(zero_copy_only=False)
            piece = flat.reshape(-1, self.shape[1])[position:][: len(vectors) - done]
            vectors[done : done + len(piece)] = piece
            done += len(piece)
        return vectors

    def sentence(self, i: int) -> tuple[Any, str]:
        """The id of a sentence, and its text."""
        group, position = self._rows.read_group(i, ID, TEXT)
        return group[ID][position].as_py(), group[TEXT][position].as_py()

    def fingerprint(self) -> str:
        """A hash of the files' names, sizes and times: equal if nothing was written."""
        digest = hashlib.sha256()
        for path in self._paths:
            digest.update(str(file_stamp(path)).encode())
        return digest.hexdigest()

    @property
    def layers(self) -> str | int:
        """The layers whose means the vectors are."""
        layers, pooling = self.metadata.get("layers"), self.metadata.get("pooling")
        if pooling != "mean" or layers in ("all", None):
            raise ValueError(
                f"{self._path} should have the means over tokens of a mix of the "
                f"layers, their average or one layer. It has {layers}, {pooling}."
            )
        return int(layers) if str(layers).isdecimal() else str(layers)

    def embed(
        self, embedder: Embedder, *, overwrite: bool, stop: Callable[[], bool]
    ) -> "ParquetSentences":
        """Itself: the vectors exist. Refuses an embedder of others."""
        mix = embedder.engine.mix if self.layers == "mix" else ()
        for name in ("model", "arithmetic", *mix):
            then, now = self.metadata.get(name), embedder.metadata[name]
            if then != now:
                raise ValueError(
                    f"{self._path} has vectors by another {name}: {then}. Give the "
                    f"{name} that computed them. Received: {now}"
                )
        return self

    def __exit__(self, *_):
        self._rows.close()


def _list_files(path):
    """The file, or those of the folder that are no temporary or hidden ones."""
    if not path.is_dir():
        return [path]
    files = sorted(p for p in path.glob("*.parquet") if p.name[0] not in "._")
    if not files:
        raise FileNotFoundError(f"There are no .parquet files in {path}.")
    return files


def _vector_type(path, schema):
    """The type of the vectors in a file that has all columns."""
    missing = {ID, TEXT, "vector"} - set(schema.names)
    if missing or not pa.types.is_fixed_size_list(schema.field("vector").type):
        raise ValueError(
            f"{path} should have the columns `{ID}`, `{TEXT}` and `vector`, one vector "
            "of each sentence, as `embed --pooling mean` writes them. Found: "
            f"{', '.join(schema.names)}"
        )
    return schema.field("vector").type
