"""Sentences and their vectors as rows of Arrow tables."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

ID, NUMBER, TEXT, ABOUT = "id", "number", "text", b"elmo_keras"


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

    Args:
        shape: shape of a sentence's vectors, None for the number of tokens: `([layers],
            [None], dim)`.
        dtype: dtype of the vectors, `"float32"` or `"float16"`.
        texts: whether there is a column of texts.
        about: JSON values that are kept in the metadata of the schema.
        ids: None if the lines are known by their numbers; or the type of ids of the
            user's, `"int64"` or `"string"`.
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

    def batch(
        self,
        ids: Sequence[int | str],
        texts: Sequence[str | bytes],
        vectors: Sequence[np.ndarray],
        *,
        numbers: Sequence[int],
    ) -> pa.RecordBatch:
        """Rows of these sentences, one or more."""
        columns = [pa.array(ids, self.schema.field(ID).type)]
        if NUMBER in self.schema.names:
            columns.append(pa.array(numbers, pa.int64()))
        if TEXT in self.schema.names:
            columns.append(pa.array(texts, pa.binary()).cast(pa.string()))
        columns += self.columns(vectors)
        return pa.record_batch(columns, schema=self.schema)

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


def about_of(schema: pa.Schema) -> dict[str, Any]:
    """What the metadata of a schema says about its vectors; empty if nothing."""
    return json.loads((schema.metadata or {}).get(ABOUT, b"{}"))


def vector_columns(schema: pa.Schema) -> list[str]:
    """The names of the columns of vectors, layer by layer."""
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


def arrays_of(column: pa.Array) -> list[np.ndarray]:
    """The vectors in a column, an array `(tokens, dim)` or `(dim,)` for each row."""
    of_tokens = pa.types.is_list(column.type)
    vectors = column.values if of_tokens else column
    if not pa.types.is_fixed_size_list(vectors.type):
        raise ValueError(f"Vectors should be fixed-size lists, not {column.type}.")
    dim = vectors.type.list_size
    # `values` ignores the offset of a slice.
    numbers = vectors.values.to_numpy(zero_copy_only=False).reshape(-1, dim)
    numbers = numbers[vectors.offset : vectors.offset + len(vectors)]
    if not of_tokens:
        return list(numbers)
    ends = column.offsets.to_numpy()
    return [numbers[start:end] for start, end in zip(ends[:-1], ends[1:])]
