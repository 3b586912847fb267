"""The vectors in Parquet files, as an array that is read piece by piece."""

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RowGroup = tuple[pq.ParquetFile, int]  # a file and the number of its group


class ParquetVectors:
    """The column `vector` of row groups, one after another.

    `vectors[first:end]` reads some rows and `vectors[:]` reads all. The row group that
    was read last is kept.

    Args:
        groups: the row groups.
        kind: the type of the column, a fixed_size_list.

    Attributes:
        shape: `(sentences, dim)`.
    """

    def __init__(self, groups: Sequence[RowGroup], kind: pa.DataType):
        self._groups, self._kind = groups, kind
        lengths = [file.metadata.row_group(i).num_rows for file, i in groups]
        self._ends = np.cumsum([0, *lengths]).tolist()
        self.shape = self._ends[-1], kind.list_size
        self._kept = -1, None

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Rows in their dtype, `(rows, dim)`."""
        first, end, _ = rows.indices(len(self))
        dtype = f"f{self._kind.value_type.bit_width // 8}"
        vectors = np.empty((max(0, end - first), self.shape[1]), dtype)
        for group, start in enumerate(self._ends[:-1]):
            stop = self._ends[group + 1]
            a, b = max(first, start), min(end, stop)
            if a < b:
                vectors[a - first : b - first] = self._of(group)[a - start : b - start]
        return vectors

    def digest(self) -> str:
        """SHA-256 of all vectors; reads them all."""
        digest = hashlib.sha256(f"{self.shape} {self._kind}".encode())
        for group in range(len(self._groups)):
            digest.update(self._of(group).tobytes())
        return digest.hexdigest()

    def _of(self, group):
        if self._kept[0] != group:
            self._kept = group, np.concatenate([self[:0], *self._read(group)])
        return self._kept[1]

    def _read(self, group) -> Iterator[np.ndarray]:
        file, i = self._groups[group]
        for column in file.read_row_group(i, ["vector"])["vector"].chunks:
            numbers = column.flatten().to_numpy(zero_copy_only=False)
            yield numbers.reshape(-1, self.shape[1])
