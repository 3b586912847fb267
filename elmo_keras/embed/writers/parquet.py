"""Parquet files of vectors, one row a sentence."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from elmo_keras.base.files import naming_damage
from elmo_keras.text.length_batches import chunks

ID, NUMBER, TEXT, METADATA = "id", "number", "text", b"elmo_keras"
ROW_GROUP_BYTES = 2**26
ROW_BYTES = 64  # about the size of a row without its vectors


class Row(NamedTuple):
    vectors: np.ndarray
    index: int
    text: str | bytes | None = None
    id: int | str | None = None


class Rows:
    """The columns that hold the vectors of sentences.

    | column | type | content |
    |---|---|---|
    | `id` | int64 | index of the line, from 0; or the user's id, also a string |
    | `number` | int64 | index of the line, if `id` is the user's id |
    | `text` | string | the line, unless texts are left out |
    | `vectors` | list of fixed_size_list [dim] | a vector of each token |
    | or `vector` | fixed_size_list [dim] | one vector of the sentence |

    With all layers there is a column for each of them, `layer_0`, `layer_1`, …, in
    place of the last one.

    `shape` is that of a sentence's vectors, `([layers], [None], dim)` with None for the
    tokens; `metadata` is kept in the schema; and `ids` is the type of the user's ids,
    `int` or `str`, or None.
    """

    def __init__(
        self,
        shape: tuple[int | None, ...],
        dtype: str,
        *,
        texts: bool,
        metadata: dict[str, Any],
        ids: type | None = None,
    ):
        self.dim, self.has_tokens = int(shape[-1] or 0), None in shape
        n_layers = shape[0] if len(shape) == 2 + self.has_tokens else None
        name = "vectors" if self.has_tokens else "vector"
        self.names = [f"layer_{i}" for i in range(n_layers)] if n_layers else [name]
        vector = pa.list_(pa.from_numpy_dtype(np.dtype(dtype)), self.dim)
        column = pa.list_(vector) if self.has_tokens else vector
        id_type = pa.string() if ids is str else pa.int64()
        fields = [pa.field(ID, id_type, nullable=False)]
        fields += [pa.field(NUMBER, pa.int64(), nullable=False)] if ids else []
        fields += [pa.field(TEXT, pa.string())] if texts else []
        fields += [pa.field(name, column, nullable=False) for name in self.names]
        self.schema = pa.schema(fields, {METADATA: json.dumps(metadata).encode()})

    def columns(self, vectors: Sequence[np.ndarray]) -> list[pa.Array]:
        """The columns of vectors that `names` lists."""
        if len(self.names) == 1:
            return [self._column(vectors)]
        return [self._column([h[i] for h in vectors]) for i in range(len(self.names))]

    def _column(self, arrays):
        column = self.schema.field(self.names[0]).type
        vector = column.value_type if self.has_tokens else column
        rows = [np.reshape(array, (-1, self.dim)) for array in arrays]
        values = np.concatenate([np.empty((0, self.dim), np.float16), *rows])
        values = pa.array(values.reshape(-1), vector.value_type)
        vectors = pa.FixedSizeListArray.from_arrays(values, type=vector)
        if not self.has_tokens:
            return vectors
        ends = np.cumsum([0, *map(len, rows)], dtype=np.int32)
        return pa.ListArray.from_arrays(pa.array(ends), vectors, type=column)

    def write(
        self,
        file: BinaryIO,
        sentences: Iterable[Row],
        more: Mapping[bytes, bytes] | None = None,
    ) -> None:
        """Writes Parquet in row groups of about `ROW_GROUP_BYTES`, with more metadata."""
        schema = self.schema.with_metadata(self.schema.metadata | (more or {}))
        # Numbers don't become smaller by compression.
        with pq.ParquetWriter(
            file,
            schema,
            compression={TEXT: "zstd"},  # pyright: ignore[reportArgumentType]
            use_dictionary=False,
            write_statistics=[ID],  # pyright: ignore[reportArgumentType]
        ) as writer:
            for group in chunks(
                sentences, ROW_GROUP_BYTES, lambda row: row.vectors.nbytes + ROW_BYTES
            ):
                vectors, indices, texts, ids = map(list, zip(*group))
                ids = indices if ids[0] is None else ids
                values = {ID: ids, NUMBER: indices, TEXT: texts}
                columns = [
                    pa.array(values[field.name], field.type)
                    for field in schema
                    if field.name in values
                ] + self.columns(vectors)
                writer.write_batch(pa.record_batch(columns, schema=schema))


def schema_metadata(schema: pa.Schema) -> dict[str, Any]:
    return json.loads((schema.metadata or {}).get(METADATA, b"{}"))


def _vector_columns(schema: pa.Schema) -> list[str]:
    names = [n for n in schema.names if re.match(r"vectors?$|layer_", n)]
    if ID not in schema.names or not names:
        raise ValueError(
            f"There should be the columns `{ID}` and `vectors`, `vector` or `layer_0`, "
            f"`layer_1`, …. Found: {', '.join(schema.names)}"
        )
    return names


def _read_array(column: pa.Array, row: int) -> np.ndarray:
    vectors, has_tokens = column.slice(row, 1), pa.types.is_list(column.type)
    if has_tokens:
        vectors = vectors.flatten()
    if not pa.types.is_fixed_size_list(vectors.type):
        raise ValueError(f"Vectors should be fixed-size lists, not {column.type}.")
    size = vectors.type.list_size
    values = vectors.flatten().to_numpy(zero_copy_only=False)
    return values.reshape((-1, size) if has_tokens else size)


class ParquetRows:
    """The rows of Parquet files, one after another, read when they are used."""

    def __init__(self, paths: Iterable[Path]):
        files = []
        for path in paths:
            with _naming(path):
                files.append((path, pq.ParquetFile(path)))
        self._files = [file for _, file in files]
        self.schemas = [file.schema_arrow for file in self._files]
        self._groups = [(*f, i) for f in files for i in range(f[1].num_row_groups)]
        lengths = [f.metadata.row_group(i).num_rows for _, f, i in self._groups]
        self._ends = np.cumsum(lengths, dtype=int)
        self._group: tuple[Any, Any] = None, None

    def __len__(self) -> int:
        return sum(file.metadata.num_rows for file in self._files)

    def read_group(self, row: int, *columns: str) -> tuple[pa.RecordBatch, int]:
        """The row group that holds a row, which is kept, and the row's index in it."""
        index = int(np.searchsorted(self._ends, row, side="right"))
        if self._group[0] != (index, columns):
            path, file, i = self._groups[index]
            with _naming(path):
                table = file.read_row_group(i, list(columns))
                (group,) = table.combine_chunks().to_batches()
            self._group = (index, columns), group
        group = self._group[1]
        return group, row - int(self._ends[index]) + len(group)

    def close(self) -> None:
        for file in self._files:
            file.close()


def _naming(path):
    """Names the file in errors, also in those of pyarrow."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    return naming_damage(f"{path} should be a Parquet file of vectors.")


class ParquetReader(ParquetRows):
    """The vectors in a file whose rows are in the order of the sentences."""

    def __init__(self, path: Path):
        super().__init__([path])
        self._path, schema = path, self.schemas[0]
        with _naming(path):
            self.attributes: dict[str, Any] = schema_metadata(schema)
            self._names = _vector_columns(schema)
        self.has_tokens = pa.types.is_list(schema.field(self._names[0]).type)

    def read(self, sentence: int, row: int) -> np.ndarray:
        group, index = self.read_group(row, ID, *self._names)
        id_ = group[ID][index].as_py()
        if id_ != sentence:
            raise ValueError(
                f"{self._path} should hold the sentences in their order, from 0 on. "
                f"Found {id_} in the place of {sentence}."
            )
        with _naming(self._path):
            layers = [_read_array(group[name], index) for name in self._names]
        return np.array(layers if len(layers) > 1 else layers[0])
