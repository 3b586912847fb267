"""Reads Parquet files of vectors, a row group at a time."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from elmo_keras.embed.arrow_rows import ID, about_of, array_of, vector_columns


class ParquetRows:
    """The rows of Parquet files, one after another, read when they are used."""

    def __init__(self, paths: Iterable[Path]):
        files = [(path, _opened(path)) for path in paths]
        self._files = [file for _, file in files]
        self.schemas = [file.schema_arrow for file in self._files]
        self._groups = [(*f, i) for f in files for i in range(f[1].num_row_groups)]
        lengths = [f.metadata.row_group(i).num_rows for _, f, i in self._groups]
        self._ends = np.cumsum(lengths, dtype=int)
        self._kept = None, None

    def __len__(self) -> int:
        return sum(file.metadata.num_rows for file in self._files)

    def group_of(self, row: int, *columns: str) -> tuple[pa.RecordBatch, int]:
        """The row group that holds a row, which is kept, and the row's place in it."""
        number = int(np.searchsorted(self._ends, row, side="right"))
        if self._kept[0] != (number, columns):
            path, file, i = self._groups[number]
            try:
                table = file.read_row_group(i, list(columns))
                (group,) = table.combine_chunks().to_batches()
            except (OSError, ValueError) as error:  # pyarrow's are ValueErrors
                raise ValueError(f"{path} is damaged. {error}") from error
            self._kept = (number, columns), group
        group = self._kept[1]
        return group, row - int(self._ends[number]) + len(group)

    def close(self) -> None:
        for file in self._files:
            file.close()


def _opened(path):
    try:
        return pq.ParquetFile(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path}.") from None
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{path} should be a Parquet file of vectors. {error}"
        ) from error


class ParquetPart:
    """The vectors in a file whose rows are in the order of the sentences."""

    def __init__(self, path: Path):
        self._path, self._rows = path, ParquetRows([path])
        (schema,) = self._rows.schemas
        try:
            self.attributes: dict[str, Any] = about_of(schema)
            self._names = vector_columns(schema)
        except ValueError as error:
            raise ValueError(
                f"{path} should be a Parquet file of vectors. {error}"
            ) from error
        self.has_tokens = pa.types.is_list(schema.field(self._names[0]).type)

    def __len__(self) -> int:
        return len(self._rows)

    def of(self, sentence: int, row: int) -> np.ndarray:
        group, place = self._rows.group_of(row, ID, *self._names)
        found = group[ID][place].as_py()
        if found != sentence:
            raise ValueError(
                f"{self._path} should hold the sentences in their order, from 0 on. "
                f"Found {found} in the place of {sentence}."
            )
        try:
            layers = [array_of(group[name], place) for name in self._names]
        except ValueError as error:
            raise ValueError(f"{self._path} is damaged. {error}") from error
        return np.array(layers if len(layers) > 1 else layers[0])

    def close(self) -> None:
        self._rows.close()
