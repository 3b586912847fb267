"""Reads the vectors in a Parquet file."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from elmo_keras.embed.arrow_rows import ID, about_of, arrays_of, vector_columns


class ParquetPart:
    """The vectors in a file whose rows are in the order of the sentences.

    The row group that was read last is kept.

    Args:
        path: the file.

    Attributes:
        attributes: what the file says about its vectors.
        has_tokens: whether there is a vector for each token.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no Parquet file of vectors.
    """

    def __init__(self, path: Path):
        self._path = path
        try:
            self._file = pq.ParquetFile(path)
            schema = self._file.schema_arrow
            self.attributes: dict[str, Any] = about_of(schema)
            self._names = vector_columns(schema)
        except FileNotFoundError:
            raise FileNotFoundError(f"There is no file {path}.") from None
        except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
            raise ValueError(
                f"{path} should be a Parquet file of vectors. {error}"
            ) from error
        self.has_tokens = pa.types.is_list(schema.field(self._names[0]).type)
        groups = [self._file.metadata.row_group(i) for i in range(self._n_groups)]
        self._ends = np.cumsum([group.num_rows for group in groups])
        self._group, self._arrays = -1, []

    @property
    def _n_groups(self):
        return self._file.metadata.num_row_groups

    def __len__(self) -> int:
        return self._file.metadata.num_rows

    def of(self, sentence: int, row: int) -> np.ndarray:
        """The vectors of a sentence, which is in this row.

        Raises:
            ValueError: another sentence is there, or the file is damaged.
        """
        group = int(np.searchsorted(self._ends, row, side="right"))
        if group != self._group:
            self._read(group)
        row -= self._ends[group] - len(self._ids)
        if self._ids[row] != sentence:
            raise ValueError(
                f"{self._path} should hold the sentences in their order, from 0 on. "
                f"Found {self._ids[row]} in the place of {sentence}."
            )
        layers = [arrays[row] for arrays in self._arrays]
        return np.array(layers if len(layers) > 1 else layers[0])

    def _read(self, group):
        try:
            table = self._file.read_row_group(group, [ID, *self._names])
            (batch,) = table.combine_chunks().to_batches()
            self._ids = batch[ID].to_numpy()
            self._arrays = [arrays_of(batch[name]) for name in self._names]
        except (OSError, ValueError) as error:
            raise ValueError(f"{self._path} is damaged. {error}") from error
        self._group = group

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
