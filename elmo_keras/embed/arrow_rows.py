"""Sentences and their vectors as rows of Arrow tables and Parquet files."""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ID, NUMBER, TEXT, ABOUT = "id", "number", "text", b"elmo_keras"
ROW_GROUP_BYTES = 2**26  # of vectors; a single longer sentence is a group by itself
ROW_BYTES = 64  # of a row besides its vectors, about


class Row(NamedTuple):
    vectors: np.ndarray
    number: int
    text: str | bytes | None = None
    id: int | str | None = None


class Rows:
    """The columns that hold the vectors of sentences.

    | column | type | content |
    |---|---|---|
    | `id` | int64 | number of the line, from 0; or an id of the user's, also string |
    | `number` | int64 | number of the line, if `id` is an id of the user's |
    | `text` | string | the line, unless texts are left out |
    | `vectors` | list of fixed_size_list [dim] | a vector of each token |
    | or `vector` | fixed_size_list [dim] | one vector of the sentence |

    With all layers there is a column for each of them, `layer_0`, `layer_1`, …, in
    place of the last one.

    `shape` is that of a sentence's vectors, `([layers], [None], dim)` with None for the
    tokens; `about` is kept in the metadata of the schema; and `ids` is the type of ids
    of the user's, `"int64"` or `"string"`, or None.
    """

    def __init__(
        self,
        shape: tuple[int | None, ...],
        dtype: str,
        *,
        texts: bool,
        about: dict[str, Any],
        ids: str | None = None,
    ):
        self.dim, self.of_tokens = shape[-1], None in shape
        n_layers = shape[0] if len(shape) == 2 + self.of_tokens else None
        one = "vectors" if self.of_tokens else "vector"
        self.names = [f"layer_{i}" for i in range(n_layers)] if n_layers else [one]
        vector = pa.list_(pa.from_numpy_dtype(np.dtype(dtype)), self.dim)
        kind = pa.list_(vector) if self.of_tokens else vector
        fields = [pa.field(ID, pa.type_for_alias(ids or "int64"), nullable=False)]
        fields += [pa.field(NUMBER, pa.int64(), nullable=False)] if ids else []
        fields += [pa.field(TEXT, pa.string())] if texts else []
        fields += [pa.field(name, kind, nullable=False) for name in self.names]
        self.schema = pa.schema(fields, {ABOUT: json.dumps(about).encode()})

    def columns(self, vectors: Sequence[np.ndarray]) -> list[pa.Array]:
        """The columns of vectors, those of `names`; there is one sentence or more."""
        layers = zip(*vectors) if len(self.names) > 1 else [vectors]
        return [self._column(list(arrays)) for arrays in layers]

    def _column(self, arrays):
        kind = self.schema.field(self.names[0]).type
        vector = kind.value_type if self.of_tokens else kind
        rows = [np.reshape(array, (-1, self.dim)) for array in arrays]
        numbers = pa.array(np.concatenate(rows).reshape(-1), vector.value_type)
        values = pa.FixedSizeListArray.from_arrays(numbers, type=vector)
        if not self.of_tokens:
            return values
        ends = np.cumsum([0, *map(len, rows)], dtype=np.int32)
        return pa.ListArray.from_arrays(pa.array(ends), values, type=kind)

    def write(
        self,
        file: BinaryIO,
        sentences: Iterable[Row],
        metadata: Mapping[bytes, bytes] | None = None,
    ) -> None:
        """Writes Parquet in row groups of about `ROW_GROUP_BYTES`."""
        schema = self.schema.with_metadata(self.schema.metadata | (metadata or {}))
        # Numbers don't become smaller by compression.
        with pq.ParquetWriter(
            file,
            schema,
            compression={TEXT: "zstd"},
            use_dictionary=False,
            write_statistics=[ID],
        ) as writer:
            for group in _groups(sentences):
                vectors, numbers, texts, ids = map(list, zip(*group))
                ids = numbers if ids[0] is None else ids
                given = {ID: ids, NUMBER: numbers, TEXT: texts}
                columns = [
                    pa.array(given[field.name], field.type)
                    for field in schema
                    if field.name in given
                ] + self.columns(vectors)
                writer.write_batch(pa.record_batch(columns, schema=schema))


def _groups(sentences) -> Iterator[list[Row]]:
    size = 0

    def number(row):
        nonlocal size
        before, size = size, size + row.vectors.nbytes + ROW_BYTES
        return before // ROW_GROUP_BYTES

    return (list(group) for _, group in itertools.groupby(sentences, number))


def about_of(schema: pa.Schema) -> dict[str, Any]:
    return json.loads((schema.metadata or {}).get(ABOUT, b"{}"))


def vector_columns(schema: pa.Schema) -> list[str]:
    names = [
        name
        for name in schema.names
        if name in ("vector", "vectors") or name.startswith("layer_")
    ]
    if ID not in schema.names or not names:
        raise ValueError(
            f"There should be the columns `{ID}` and `vectors`, `vector` or `layer_0`, "
            f"`layer_1`, …. Found: {', '.join(schema.names)}"
        )
    return names


def array_of(column: pa.Array, row: int) -> np.ndarray:
    of_tokens = pa.types.is_list(column.type)
    vectors = column.values if of_tokens else column
    if not pa.types.is_fixed_size_list(vectors.type):
        raise ValueError(f"Vectors should be fixed-size lists, not {column.type}.")
    # `values` ignores the offset of a slice.
    numbers = vectors.values.to_numpy(zero_copy_only=False)
    numbers = numbers.reshape(-1, vectors.type.list_size)[vectors.offset :]
    if not of_tokens:
        return numbers[row]
    return numbers[column.offsets[row].as_py() : column.offsets[row + 1].as_py()]
