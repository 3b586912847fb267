"""Writes sentences and their vectors as Parquet."""

from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from elmo_keras.embed.arrow_rows import ID, TEXT, Rows

ROW_GROUP_BYTES = 2**26  # of vectors; a single longer sentence is a group by itself
ROW_BYTES = 64  # of a row besides its vectors, about


class Row(NamedTuple):
    """A sentence: its vectors, number, text in UTF-8 if there is one, and own id."""

    vectors: np.ndarray
    number: int
    text: str | bytes | None = None
    id: int | str | None = None


def write_rows(
    file: BinaryIO,
    rows: Rows,
    sentences: Iterable[Row],
    metadata: Mapping[bytes, bytes] | None = None,
) -> None:
    """Writes rows in groups of about `ROW_GROUP_BYTES`."""
    schema = rows.schema.with_metadata({**rows.schema.metadata, **(metadata or {})})
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
            writer.write_batch(rows.batch(ids, texts, vectors, numbers=numbers))


def _groups(sentences) -> Iterator[list[Row]]:
    group, current, size = [], 0, 0
    for row in sentences:
        number = size // ROW_GROUP_BYTES
        if group and number != current:
            yield group
            group = []
        current, size = number, size + row.vectors.nbytes + ROW_BYTES
        group.append(row)
    if group:
        yield group
