"""The lines of a text, and the file of their mean vectors."""

import contextlib
import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from elmo_keras.analyses.search.index_note import (
    check_note,
    check_written,
    note_path,
    write_note,
)
from elmo_keras.embed.checked_outputs import checked_output
from elmo_keras.embed.corpus import write_vectors
from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.vector_files import is_npy
from elmo_keras.text.files import GZIP_ERRORS, bounded_lines, incomplete, unzipped


class LineIndex(contextlib.AbstractContextManager):
    """The lines of a text file; of a gzipped one, which has no random access, they are slow."""

    number = "line"

    def __init__(self, path: str | Path):
        self._file = Path(path).open("rb")  # noqa: SIM115, closed by `__exit__`
        self._text = unzipped(self._file)
        digest, lengths = hashlib.sha256(), []
        with contextlib.ExitStack() as stack:
            stack.callback(self._file.close)
            try:
                for line in bounded_lines(self._text):
                    digest.update(line)
                    lengths.append(len(line))
            except GZIP_ERRORS as error:
                raise incomplete(path, error) from error
            except ValueError as error:
                number = len(lengths) + 1
                raise ValueError(f"{path}, line {number}: {error}") from error
            if not lengths:
                raise ValueError(f"{path} holds no sentence.")
            stack.pop_all()
        self.digest = digest.hexdigest()
        self._starts = np.cumsum([0, *lengths])

    def named(self, i: int) -> tuple[int, str]:
        """The number of a line, from 1, and the line."""
        self._text.seek(self._starts[i])
        return int(i) + 1, self._text.readline().decode("utf-8-sig").strip()

    def __exit__(self, *_):
        self._file.close()


def check_index(index: Path, inputs: Iterable[Path], *, overwrite: bool) -> None:
    """Checks before the work whether an index can be made, or is there already."""
    if not is_npy(index):
        raise ValueError(f"--index should end in .npy. Received: {index}")
    if overwrite or not index.is_file():  # else it is only read
        checked_output(index, inputs, shard=(1, 1), pooling="mean", overwrite=True)
        check_written(index, inputs)


def make_index(
    embedder: Embedder,
    source: Path,
    index: Path,
    *,
    digest: str,
    overwrite: bool,
    stop: Callable[[], bool],
) -> bool:
    vectors, replaces = embedder.vectors, index.exists()
    made_of = {"text": digest, "model": vectors.model, "layers": str(vectors.layers)}
    if vectors.arithmetic != "float32":
        made_of |= {"arithmetic": vectors.arithmetic}
    if replaces and not overwrite:
        check_note(index, made_of)
        return True
    if not replaces:  # so that an index never lacks its note
        write_note(index, made_of)
    try:
        options = {"shard": (1, 1), "forget_sentences": False, "verbose": 1}
        options |= {"overwrite": overwrite, "stop": stop}
        finished = write_vectors(embedder, source, index, **options).finished
        if finished and replaces:
            write_note(index, made_of)
        return finished
    finally:
        if not index.exists():
            note_path(index).unlink()
