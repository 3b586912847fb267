"""The lines of a text, and the file of their mean vectors."""

import contextlib
import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from elmo_keras.analyses.search.metadata import (
    check_metadata,
    metadata_file,
    write_metadata,
)
from elmo_keras.embed.corpus import embed_corpus
from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.outputs import check_output, is_npy
from elmo_keras.embed.writers.npy import open_npy
from elmo_keras.text.files import GZIP_ERRORS, bounded_lines, incomplete, unzipped
from elmo_keras.util.outputs import check_apart, check_file


class TextSentences(contextlib.AbstractContextManager):
    """The lines of a text file, and the `.npy` file of their vectors, which `embed` makes.

    The lines of a gzipped file, which has no random access, are slow.
    """

    id_name = "line"

    def __init__(self, path: Path, vectors: Path):
        self._path, self._vectors = path, vectors
        digest, lengths = hashlib.sha256(), []
        with path.open("rb") as file:
            try:
                for line in bounded_lines(unzipped(file)):
                    digest.update(line)
                    lengths.append(len(line))
            except GZIP_ERRORS as error:
                raise incomplete(path, error) from error
            except ValueError as error:
                line_number = len(lengths) + 1
                raise ValueError(f"{path}, line {line_number}: {error}") from error
        if not lengths:
            raise ValueError(f"{path} holds no sentence.")
        self._digest, self._starts = digest.hexdigest(), np.cumsum([0, *lengths])
        self._file = path.open("rb")
        self._text = unzipped(self._file)

    def embed(
        self, embedder: Embedder, *, overwrite: bool, stop: Callable[[], bool]
    ) -> np.ndarray | None:
        """The vectors, which are written unless they exist; None if `stop` returned True.

        The same call resumes.
        """
        metadata = {"text": self._digest, **embedder.metadata}
        if self._vectors.exists() and not overwrite:
            check_metadata(self._vectors, metadata)
            return open_npy(self._vectors)
        finished = embed_corpus(
            embedder,
            self._path,
            self._vectors,
            overwrite=overwrite,
            progress=True,
            stop=stop,
        ).finished
        if not finished:
            return None
        write_metadata(self._vectors, metadata)
        return open_npy(self._vectors)

    def fingerprint(self) -> str:
        """A hash of what the vectors were made from."""
        content = metadata_file(self._vectors).read_bytes()
        return hashlib.sha256(content).hexdigest()

    def sentence(self, i: int) -> tuple[int, str]:
        """The number of a line, from 1, and the line."""
        self._text.seek(self._starts[i])
        return int(i) + 1, self._text.readline().decode("utf-8-sig").strip()

    def __exit__(self, *_):
        self._file.close()


def check_vectors(vectors: Path, inputs: Iterable[Path], *, overwrite: bool) -> None:
    """Checks before the work whether vectors can be written, or are there already."""
    if not is_npy(vectors):
        raise ValueError(f"--vectors should end in .npy. Received: {vectors}")
    if overwrite or not vectors.is_file():  # else they are only read
        check_output(vectors, inputs, shard=(1, 1), pooling="mean", overwrite=True)
        check_apart([metadata_file(vectors)], inputs)
        check_file(metadata_file(vectors))
