"""A Parquet file of sentences and their vectors."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from elmo_keras.embed.arrow_rows import ID, TEXT, Rows, about_of
from elmo_keras.embed.journal import JournaledFile
from elmo_keras.embed.unfinished import CONVERTED

ROW_GROUP_BYTES = 2**26  # of vectors; a single longer sentence is a group by itself


class ParquetOutput:
    """A Parquet file with a row for each sentence, in the order of the text.

    It has the methods of `vector_files.Hdf5Output`. A Parquet file can't be continued
    after an interruption, so the rows grow as an Arrow stream, and become Parquet, in
    groups of bounded size, when all are there. Then they take the disk space twice,
    until the stream is removed.

    Args:
        file: the file that the stream is written to.
        shape, dtype: of a sentence's vectors, see `arrow_rows.Rows`.
        texts: whether there is a column of texts.
    """

    def __init__(self, file: JournaledFile, shape, dtype: str, *, texts: bool):
        self._file, self._shape, self._dtype, self._texts = file, shape, dtype, texts

    def begin(self, about: dict[str, Any]) -> None:
        """Makes a stream without rows, with these values in its metadata."""
        self._write(self._rows(about).schema.serialize())

    def write(
        self,
        sentences: np.ndarray,
        vectors: Sequence[np.ndarray],
        texts: Sequence[bytes] = (),
    ) -> None:
        """Adds the rows of sentences."""
        rows = self._rows({}).batch(sentences, texts, vectors)
        self._write(rows.serialize())

    def finish(self, n_sentences: int, sentence_to_index: dict[str, str] | None):
        """Nothing is left to be written: the rows are counted, and have their texts."""

    def converted(self) -> Path:
        """Writes the Parquet file next to the stream; returns its path."""
        path = self._file.path.with_name(CONVERTED)
        with pa.memory_map(str(self._file.path)) as stream:
            reader = pa.ipc.open_stream(stream)
            rows = self._rows(about_of(reader.schema))
            with path.open("wb") as file, parquet_writer(file, rows.schema) as writer:
                for group in _sorted_groups(list(reader), rows):
                    writer.write_batch(group)
                writer.close()
                os.fsync(file.fileno())
        return path

    def _rows(self, about):
        return Rows(self._shape, self._dtype, texts=self._texts, about=about)

    def _write(self, message):
        self._file.seek(0, 2)
        self._file.write(message)


def parquet_writer(file: BinaryIO, schema: pa.Schema) -> pq.ParquetWriter:
    """What writes rows of `arrow_rows.Rows` to a file, to be closed before the file."""
    # Numbers don't become smaller by compression.
    return pq.ParquetWriter(
        file,
        schema,
        compression={TEXT: "zstd"},
        use_dictionary=False,
        write_statistics=[ID],
    )


def _sorted_groups(batches, rows) -> Iterator[pa.RecordBatch]:
    """All rows in the order of their numbers, in groups of `ROW_GROUP_BYTES`."""
    if not batches:
        return
    batch_of = np.repeat(np.arange(len(batches)), [len(batch) for batch in batches])
    row_of = np.concatenate([np.arange(len(batch)) for batch in batches])
    sizes = np.concatenate([rows.sizes(batch) for batch in batches])
    order = np.argsort(np.concatenate([batch[ID].to_numpy() for batch in batches]))
    ends = np.cumsum(sizes[order])
    groups = (ends - sizes[order]) // ROW_GROUP_BYTES
    for group in np.split(order, np.flatnonzero(np.diff(groups)) + 1):
        taken = [
            batches[n].take(pa.array(row_of[group[batch_of[group] == n]]))
            for n in np.unique(batch_of[group])
        ]
        table = pa.Table.from_batches(taken).sort_by(ID).combine_chunks()
        yield from table.to_batches()
