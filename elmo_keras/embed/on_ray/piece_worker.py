"""What a worker of a job does: it writes pieces as parts."""

import os
from pathlib import Path
from typing import Any, NamedTuple

from elmo_keras.embed.arrow_rows import Rows
from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.file_identity import file_identity, rows_identity
from elmo_keras.embed.journal import synchronize_folder
from elmo_keras.embed.numbered_batches import Shard
from elmo_keras.embed.on_ray.assigned_devices import use_assigned_devices
from elmo_keras.embed.on_ray.job_folder import JobFolder
from elmo_keras.embed.on_ray.part_files import Part, write_part
from elmo_keras.embed.on_ray.pieces import Piece


class Written(NamedTuple):
    """The result of a piece.

    Attributes:
        part: what was written.
        again: whether an earlier process had begun the piece, and ended.
    """

    part: Part
    again: bool


class PieceWorker:
    """Computes the vectors of pieces and writes them as parts of a job.

    Args:
        output: the output of the job.
        settings: arguments of `Embedder`, by their names.
        texts: whether there is a column of texts.
    """

    def __init__(self, output: Path, settings: dict[str, Any], *, texts: bool):
        self._folder, self._settings, self._texts = JobFolder(output), settings, texts
        self._embedder: Embedder | None = None
        self._identity: dict[str, Any] = {}

    def identity(self) -> dict[str, Any]:
        """Everything that the vectors depend on; reads the model at the first call.

        Raises:
            FileNotFoundError, ValueError: as `Embedder`.
        """
        if self._embedder is None:
            use_assigned_devices()
            self._embedder = Embedder(**self._settings)
            vectors = self._embedder.vectors
            sizes = ("tokens_at_once", "cache_bytes")
            sizes = {name: self._settings[name] for name in sizes}
            self._identity = file_identity(vectors, shard=Shard(), **sizes)
            self._identity |= rows_identity(vectors, texts=self._texts)
        return self._identity

    def write(self, piece: Piece) -> Written:
        """Writes a piece, unless it is there already.

        Raises:
            ValueError: the folder of the job isn't there, or belongs to another job.
            OSError: the part can't be written.
        """
        self._folder.check_open(self.identity())
        begun = self._folder.begun_parts(piece.number)
        for path in begun:
            path.unlink(missing_ok=True)
        vectors = self._embedder.vectors
        rows = Rows(
            vectors.shape,
            vectors.dtype,
            texts=self._texts,
            about=self._identity,
            ids=piece.id_type,
        )
        path = self._folder.new_part(piece.number)
        arrays = self._embedder.stream(piece.sentences)
        part = write_part(path, rows, piece, vectors=arrays)
        self._folder.check_open(self._identity)
        place = self._folder.part(piece.number)
        os.replace(path, place)
        synchronize_folder(place.parent)
        return Written(part, bool(begun))
