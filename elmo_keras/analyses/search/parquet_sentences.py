"""Sentences and their vectors in Parquet files."""

import contextlib
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from elmo_keras.analyses.search.search_index import ROWS_AT_ONCE
from elmo_keras.embed.arrow_rows import ID, TEXT, about_of
from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.parquet_rows import ParquetRows
from elmo_keras.util.fingerprint import file_stamp

SAME = "model", "layers", "pooling"  # in all files of a folder


class ParquetSentences(contextlib.AbstractContextManager):
    """The rows of a Parquet file, or of all `.parquet` files of a folder.

    `sentences[first:end]` reads vectors, `(rows, dim)` in their dtype. The files are those
    that `embed_corpus` writes with `pooling`, all with vectors of the same model and size.
    """

    number = "id"

    def __init__(self, path: Path):
        self._path, self._paths = path, _paths(path)
        self._rows = ParquetRows(self._paths)
        kinds = [_kind(p, schema) for p, schema in zip(self._paths, self._rows.schemas)]
        abouts = [about_of(schema) for schema in self._rows.schemas]
        self._kind, self.about = kinds[0], abouts[0]
        for other, kind, about in zip(self._paths, kinds, abouts):
            same = all(about.get(key) == self.about.get(key) for key in SAME)
            if kind != self._kind or not same:
                raise ValueError(
                    f"{other} has vectors of another model, layer, pooling or size "
                    f"than {self._paths[0]}."
                )
        self.shape = len(self._rows), self._kind.list_size

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        first, end, _ = rows.indices(len(self))
        dtype = pa.array([], self._kind.value_type).to_numpy().dtype
        vectors, done = np.empty((max(0, end - first), self.shape[1]), dtype), 0
        while done < len(vectors):
            group, place = self._rows.group_of(first + done, "vector")
            numbers = group["vector"].flatten().to_numpy(zero_copy_only=False)
            piece = numbers.reshape(-1, self.shape[1])[place:][: len(vectors) - done]
            vectors[done : done + len(piece)] = piece
            done += len(piece)
        return vectors

    def named(self, i: int) -> tuple[Any, str]:
        group, place = self._rows.group_of(i, ID, TEXT)
        return group[ID][place].as_py(), group[TEXT][place].as_py()

    def digest(self) -> str:
        digest = hashlib.sha256(f"{self.shape} {self._kind}".encode())
        for first in range(0, len(self), ROWS_AT_ONCE):
            digest.update(self[first : first + ROWS_AT_ONCE].tobytes())
        return digest.hexdigest()

    def stamps(self) -> list[dict[str, Any]]:
        """The stamp of each file: equal if nothing was written."""
        return [file_stamp(path) for path in self._paths]

    @property
    def layers(self) -> str | int:
        """The layers whose means the vectors are."""
        layers, pooling = self.about.get("layers"), self.about.get("pooling")
        if pooling != "mean" or layers in ("all", "mix"):
            raise ValueError(
                f"{self._path} should have the means over tokens of the average of the "
                f"layers, the top or another layer. It has {layers}, {pooling}."
            )
        return int(layers) if layers.isdecimal() else layers

    def check(self, embedder: Embedder) -> None:
        """Refuses queries whose vectors another model computes, or in another way."""
        for name in ("model", "arithmetic"):
            now = getattr(embedder.vectors, name)
            if (then := self.about.get(name, "float32")) != now:
                raise ValueError(
                    f"{self._path} has vectors by another {name}: {then}. Give the "
                    f"{name} that computed them. Received: {now}"
                )

    def __exit__(self, *_):
        self._rows.close()


def _paths(path):
    """The file, or those of the folder that are no temporary or hidden ones."""
    if not path.is_dir():
        return [path]
    found = sorted(p for p in path.glob("*.parquet") if p.name[0] not in "._")
    if not found:
        raise FileNotFoundError(f"There are no .parquet files in {path}.")
    return found


def _kind(path, schema):
    """The type of the vectors in a file that has all columns."""
    missing = {ID, TEXT, "vector"} - set(schema.names)
    if missing or not pa.types.is_fixed_size_list(schema.field("vector").type):
        raise ValueError(
            f"{path} should have the columns `{ID}`, `{TEXT}` and `vector`, one vector "
            "of each sentence, as `embed --pooling mean` writes them. Found: "
            f"{', '.join(schema.names)}"
        )
    return schema.field("vector").type
