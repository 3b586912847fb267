"""The Parquet file of a piece: written whole or not at all, and known again."""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from elmo_keras.embed.arrow_rows import Rows
from elmo_keras.embed.on_ray.pieces import Piece
from elmo_keras.embed.parquet_output import ROW_GROUP_BYTES, parquet_writer

PIECE = b"elmo_keras_piece"  # key of the file's metadata


class Part(NamedTuple):
    """What a part says about the piece that it holds.

    Attributes:
        number: number of the piece.
        digest: `Piece.digest`.
        sentences, tokens: how many it holds.
    """

    number: int
    digest: str
    sentences: int
    tokens: int


def write_part(
    path: Path, rows: Rows, piece: Piece, *, vectors: Iterable[np.ndarray]
) -> Part:
    """Writes the vectors of a piece; the file is on the disk when this returns.

    Args:
        path: a new file, which is removed if this fails.
        rows: the columns.
        piece: the sentences.
        vectors: the array of each of them in turn.

    Raises:
        OSError: the file can't be written.
    """
    tokens = sum(_n_tokens(sentence) for sentence in piece.sentences)
    part = Part(piece.number, piece.digest, len(piece.sentences), tokens)
    about = rows.schema.metadata | {PIECE: json.dumps(part._asdict()).encode()}
    try:
        with path.open("xb") as file:
            with parquet_writer(file, rows.schema.with_metadata(about)) as writer:
                for batch in _batches(rows, piece, vectors):
                    writer.write_batch(batch)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return part


def read_part(path: Path) -> Part | None:
    """What a part says about its piece; None if it is missing or damaged."""
    with contextlib.suppress(OSError, KeyError, TypeError, ValueError):
        return Part(**json.loads(pq.read_metadata(path).metadata[PIECE]))
    return None


def _batches(rows, piece, vectors) -> Iterator[pa.RecordBatch]:
    """The rows in groups of about `ROW_GROUP_BYTES`."""
    texts, group, size, first = piece.texts, [], 0, 0

    def batch():
        places = slice(first, first + len(group))
        numbers = piece.first + np.arange(len(piece.sentences))[places]
        ids = numbers if piece.ids is None else piece.ids[places]
        return rows.batch(ids, texts[places], group, numbers=numbers)

    for array in vectors:
        group.append(array)
        size += array.nbytes
        if size >= ROW_GROUP_BYTES:
            yield batch()
            group, size, first = [], 0, first + len(group)
    if group:
        yield batch()


def _n_tokens(sentence):
    return len(sentence.split() if isinstance(sentence, bytes) else sentence)
