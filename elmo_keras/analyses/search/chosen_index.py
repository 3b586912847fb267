"""The index that answers queries: the exact one, or one for millions of sentences."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from elmo_keras.analyses.search.search_index import SearchIndex, note_of_index
from elmo_keras.cli.outputs import check_apart, check_file
from elmo_keras.embed.embeddings import open_npy
from elmo_keras.published_options import read_options

if TYPE_CHECKING:
    from elmo_keras.analyses.search.parquet_sentences import ParquetSentences


class Index(Protocol):
    """A `SearchIndex` or an `ApproximateIndex`."""

    def closest(self, query: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """Indices and cosines of the sentences closest to a query."""


class ChosenIndex(NamedTuple):
    """Which index answers, and how.

    Attributes:
        approximate: whether an `ApproximateIndex` answers, which is made once and kept
            beside the vectors.
        cells: how many cells it searches, or None for its default.
        center: see `SearchIndex`.
        overwrite: whether an approximate index that exists is made anew.
    """

    approximate: bool
    cells: int | None
    center: bool
    overwrite: bool

    def check(self, vectors: Path, inputs: Iterable[Path]) -> None:
        """Checks before the work whether the index can be made.

        Args:
            vectors: the file or folder of vectors.
            inputs: files and folders that are read.

        Raises:
            ImportError: faiss is needed and isn't installed.
            ValueError: there are cells without an approximate index, or its file
                would change an input or can't be written.
        """
        if not self.approximate:
            if self.cells is not None:
                raise ValueError("--cells is for --approximate.")
            return
        try:
            import faiss  # noqa: F401
        except ImportError as error:
            raise ImportError(
                f"--approximate needs faiss: pip install 'elmo-keras[index]'. {error}"
            ) from error
        path = self.path(vectors)
        if not path.is_file() or self.overwrite:
            check_apart([path], inputs)
            check_file(path)

    def path(self, vectors: Path) -> Path:
        """The file of the approximate index."""
        kind = "centered.approximate" if self.center else "approximate"
        if vectors.name in ("", ".."):
            vectors = vectors.resolve()
        return vectors.with_name(f"{vectors.name}.{kind}")

    def of_text(self, vectors: Path, stop: Callable[[], bool]) -> Index | None:
        """The index of a `.npy` file that `make_index` made; None if it was stopped."""
        rows = open_npy(vectors)
        if not self.approximate:
            return SearchIndex(rows, self.center)
        made_of = read_options(note_of_index(vectors))
        return self._approximate(rows, self.path(vectors), made_of, stop=stop)

    def of_parquet(
        self, sentences: "ParquetSentences", path: Path, stop: Callable[[], bool]
    ) -> Index | None:
        """The index of a Parquet file or a folder of them; None if it was stopped."""
        vectors, path = sentences.vectors(), self.path(path)
        if not self.approximate:
            return SearchIndex(vectors[:], self.center)
        from elmo_keras.analyses.search.approximate_build import known_digest

        stamps = sentences.stamps()
        digest = known_digest(path, stamps) or vectors.digest()
        made_of = {"vectors": digest}
        return self._approximate(vectors, path, made_of, stop=stop, stamps=stamps)

    def _approximate(self, vectors, path, made_of, **arguments: Any):
        # faiss is imported only where it is needed.
        from elmo_keras.analyses.search.approximate_build import make_approximate_index
        from elmo_keras.analyses.search.approximate_index import ApproximateIndex

        options = {"center": self.center, "overwrite": self.overwrite, "verbose": 1}
        finished = make_approximate_index(
            vectors, path, made_of, **options, **arguments
        )
        if not finished:
            return None
        return ApproximateIndex(path, self.cells)
