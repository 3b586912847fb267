"""The lines of a text file, each read on demand."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from elmo_keras.text.files import unzipped


class LineIndex(Sequence):
    """The lines of a text file, plain or gzipped, without holding them in memory.

    The file is read once to find where each line begins, and 8 bytes a line are kept.
    Lines of a gzipped file are slow to read, since it has no random access. A `with`
    block closes the file.

    Args:
        path: the file, in UTF-8.

    Attributes:
        digest: SHA-256 of the text.

    Raises:
        OSError: the file can't be read.
    """

    def __init__(self, path: str | Path):
        self._file = Path(path).open("rb")  # noqa: SIM115, closed by `__exit__`
        self._text = unzipped(self._file)
        digest, lengths = hashlib.sha256(), []
        for line in self._text:
            digest.update(line)
            lengths.append(len(line))
        self.digest = digest.hexdigest()
        self._starts = np.cumsum([0, *lengths])

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, i: int) -> str:
        self._text.seek(self._starts[i])
        return self._text.readline().decode("utf-8-sig").strip()

    def __enter__(self) -> "LineIndex":
        return self

    def __exit__(self, *_):
        self._file.close()
