"""What a worker of a job does: it writes pieces as Parquet files, its parts."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from elmo_keras.embed.arrow_rows import Row, Rows
from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.on_ray.batch_embedder import embedder_of_worker
from elmo_keras.embed.parts import Parts
from elmo_keras.embed.text_rows import Piece

PIECE = b"elmo_keras_piece"  # key of a file's metadata
SUFFIX = ".parquet"


class PieceWorker:
    """Computes vectors, `settings` for `Embedder`, and writes them as parts of a job."""

    def __init__(self, output: Path, settings: dict[str, Any], *, texts: bool):
        self._parts = Parts(output, SUFFIX, note_of)
        self._settings, self._texts = settings, texts
        self._embedder: Embedder | None = None
        self._identity: dict[str, Any] = {}

    def identity(self) -> dict[str, Any]:
        """Everything that the vectors depend on; reads the model at the first call."""
        if self._embedder is None:
            self._embedder = embedder_of_worker(**self._settings)
            rows = self._embedder.about_rows(texts=self._texts)
            self._identity = self._embedder.about_file() | rows
        return self._identity

    def write(self, piece: Piece) -> dict[str, Any]:
        """Writes a piece; returns its note, and whether a process had begun it before."""
        self._parts.check_open(self.identity())
        begun = self._parts.begun(piece.number)
        for path in begun:
            path.unlink(missing_ok=True)
        vectors = self._embedder.vectors
        kinds = {"texts": self._texts, "about": self._identity, "ids": piece.id_type}
        rows = Rows(vectors.shape, vectors.dtype, **kinds)
        note = {
            "number": piece.number,
            "digest": piece.digest,
            "sentences": len(piece.sentences),
            "tokens": sum(
                len(sentence.split() if isinstance(sentence, bytes) else sentence)
                for sentence in piece.sentences
            ),
        }
        numbers = range(piece.first, piece.first + len(piece.sentences))
        ids = piece.ids or [None] * len(numbers)
        arrays = self._embedder.stream(piece.sentences)
        found = map(Row, arrays, numbers, piece.texts, ids)
        with self._parts.writing(piece.number) as file:
            rows.write(file, found, {PIECE: json.dumps(note).encode()})
            self._parts.check_open(self._identity)
        return note | {"again": bool(begun)}


def note_of(path: Path) -> dict[str, Any] | None:
    with contextlib.suppress(OSError, KeyError, TypeError, ValueError):
        return {"digest": None} | json.loads(pq.read_metadata(path).metadata[PIECE])
    return None
