"""Sentences of many files, lines of text and rows of Parquet, and pieces of them."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from elmo_keras.text.files import LONGEST_LINE, check_unchanged, lines_of
from elmo_keras.text.length_batches import chunks

# Bytes of text in a piece, whose work is lost when a process ends. Small pieces cost
# little: a worker keeps the vectors of words from one piece to the next.
PIECE_BYTES = 2**18
ROWS_AT_ONCE = 1024  # rows of Parquet
STRINGS = "string", "large_string", "dictionary<values=string"
INTEGERS = "int", "uint"
Row = tuple[bytes | list[bytes], int | str | None]  # text or tokens, the user's id


class Piece(NamedTuple):
    """Consecutive sentences that are embedded and written together."""

    index: int
    first: int  # index of its first sentence in the corpus
    sentences: list[bytes | list[bytes]]  # texts in UTF-8, or lists of tokens
    ids: list[int | str] | None = None  # the user's ids, all of one type

    @property
    def texts(self) -> list[bytes]:
        return [
            sentence if isinstance(sentence, bytes) else b" ".join(sentence)
            for sentence in self.sentences
        ]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the sentences, their ids and their position in the corpus."""
        lengths = [
            len(sentence) if isinstance(sentence, bytes) else list(map(len, sentence))
            for sentence in self.sentences
        ]
        positions = json.dumps([self.first, self.ids, lengths])
        digest = hashlib.sha256(positions.encode())
        digest.update(b"\n".join(self.texts))
        return digest.hexdigest()


class TextRows:
    """The sentences of files and their ids, in the order of the files.

    A file whose name ends in `.parquet` is Parquet: `text_column` (`"text"` by default)
    has strings or lists of tokens, and `id_column` the user's ids. Any other file, or
    every one with `only_lines`, is text with a sentence a line, plain or gzipped.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        text_column: str | None = None,
        id_column: str | None = None,
        *,
        only_lines: bool = False,
    ):
        self._paths, self._only_lines = paths, only_lines
        self.text_column = "text" if text_column is None else text_column
        self._id_column = id_column
        self._column_of_parquet = id_column if text_column is None else text_column
        self._sizes = [path.stat().st_size for path in paths]
        are_files = all(path.is_file() for path in paths)
        self._total = max(sum(self._sizes), 1) if are_files else None
        self._n_read, self._n_bytes = 0, 0.0
        self._id_type: type | None = None

    def share(self, n_rows: int) -> float | None:
        """The share of the input that N rows are, about; None for a pipe."""
        if self._total is None:
            return None
        return self._n_bytes / self._total * n_rows / max(self._n_read, 1)

    def __iter__(self) -> Iterator[Row]:
        n_bytes = 0
        for path, size in zip(self._paths, self._sizes):
            with path.open("rb") as file:
                before = os.fstat(file.fileno())
                for row, position in self._read_file(file, path, size):
                    self._n_read += 1
                    self._n_bytes = n_bytes + position
                    yield row
                check_unchanged(file, before, path)
            n_bytes += size

    def _read_file(self, file, path, size):
        if path.suffix.lower() == ".parquet" and not self._only_lines:
            return self._read_parquet(file, path, size)
        if self._column_of_parquet is not None:
            raise ValueError(
                f"{path} is text and has no column `{self._column_of_parquet}`. Only "
                "Parquet has columns."
            )
        position = file.tell if self._total else int
        return (((line.strip(), None), position()) for line in lines_of(file, path))

    def _read_parquet(self, file, path, size):
        import pyarrow as pa  # only for Parquet
        import pyarrow.parquet as pq

        n_read = 0
        try:
            parquet = pq.ParquetFile(file)
            schema = parquet.schema_arrow
            columns = [self.text_column, self._id_column]
            columns = [name for name in columns if name is not None]
            for column in columns:
                if column not in schema.names:
                    names = ", ".join(schema.names) or "none"
                    raise ValueError(
                        f"{path} has no column `{column}`. It has: {names:.500}"
                    )
            if self._id_column is not None:
                self._check_ids(path, str(schema.field(self._id_column).type))
            n_rows = max(parquet.metadata.num_rows, 1)
            for batch in parquet.iter_batches(ROWS_AT_ONCE, columns=columns):
                for values in batch.to_pylist():
                    n_read += 1
                    source = f"{path}, row {n_read}"
                    yield self._row(values, source), size * n_read / n_rows
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            raise ValueError(f"{path} should be a Parquet file. {error}") from error

    def _check_ids(self, path, name):
        id_type = int if name.startswith(INTEGERS) else None
        id_type = str if name.startswith(STRINGS) else id_type
        self._id_type = self._id_type or id_type
        if id_type is None or id_type != self._id_type:
            raise ValueError(
                f"{path}: the ids `{self._id_column}` should be integers or strings, "
                f"the same in all files. They are {name}."
            )

    def _row(self, values, source):
        sentence = values[self.text_column]
        is_list = isinstance(sentence, list)
        tokens = sentence if is_list else [sentence]
        if not all(isinstance(t, str) and (t or not is_list) for t in tokens):
            raise ValueError(
                f"{source}: `{self.text_column}` should be a string, or a list of "
                f"tokens that are not empty. Received: {sentence!r:.100}"
            )
        encoded = [token.encode() for token in tokens]
        if sum(map(len, encoded)) > LONGEST_LINE:
            raise ValueError(
                f"{source}: `{self.text_column}` has more than {LONGEST_LINE:,} bytes, "
                "and should hold one sentence or paragraph."
            )
        has_ids = self._id_column is not None
        id_ = values[self._id_column] if has_ids else None
        is_large = isinstance(id_, int) and id_ >= 2**63
        if has_ids and (id_ is None or is_large):
            raise ValueError(
                f"{source}: the id `{self._id_column}` should be a string or an int64. "
                f"Received: {id_}"
            )
        return encoded if is_list else encoded[0], id_


def split_pieces(rows: TextRows, piece_bytes: int = PIECE_BYTES) -> Iterator[Piece]:
    """Yields the pieces of a corpus, at least one; the same ones each time."""
    first = 0
    for index, chunk in enumerate(chunks(rows, piece_bytes, _size)):
        sentences, ids = map(list, zip(*chunk))
        yield Piece(index, first, sentences, None if ids[0] is None else ids)
        first += len(sentences)
    if not first:
        yield Piece(0, 0, [])


def _size(row):
    sentence, _ = row
    # The end of the line, and of each token in a list, counts as one.
    more = 0 if isinstance(sentence, bytes) else sum(map(len, sentence))
    return len(sentence) + 1 + more
