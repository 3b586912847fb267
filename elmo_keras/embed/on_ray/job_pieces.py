"""The pieces of a job: which are done, which are left, and what was counted."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from elmo_keras.cli.progress_line import Progress
from elmo_keras.embed.on_ray.job_folder import JobFolder
from elmo_keras.embed.on_ray.job_summary import JobSummary
from elmo_keras.embed.on_ray.part_files import read_part
from elmo_keras.embed.on_ray.piece_worker import Written
from elmo_keras.embed.on_ray.pieces import Piece, pieces_of
from elmo_keras.embed.on_ray.text_rows import TextRows
from elmo_keras.embed.unfinished import OtherRun, OtherText, only_run


@contextlib.contextmanager
def opened_job(
    output: Path,
    rows: TextRows,
    *,
    piece_bytes: int,
    overwrite: bool,
    verbose: int,
) -> Iterator["JobPieces"]:
    """The pieces of a job that no other process works at.

    Args:
        output: the folder of the finished parts.
        rows, piece_bytes, overwrite: see `JobPieces`.
        verbose: 1 for a progress line on standard error.

    Raises:
        ValueError: another process writes the same output.
    """
    with (
        only_run(output),
        contextlib.closing(JobFolder(output)) as folder,
        Progress(bool(verbose)) as progress,
    ):
        yield JobPieces(
            folder, rows, progress, piece_bytes=piece_bytes, overwrite=overwrite
        )


class JobPieces:
    """The pieces of a corpus, of which an earlier call may have written some.

    Args:
        folder: where they are written.
        rows: the sentences.
        progress: shows what is done.
        piece_bytes: see `pieces_of`.
        overwrite: whether what belongs to another call is discarded.
    """

    def __init__(
        self,
        folder: JobFolder,
        rows: TextRows,
        progress: Progress,
        *,
        piece_bytes: int,
        overwrite: bool,
    ):
        self._folder, self._rows, self._progress = folder, rows, progress
        self._piece_bytes, self._overwrite = piece_bytes, overwrite
        self._weights: dict[int, float | None] = {}  # of pieces in work
        self._share: float | None = 0.0
        self._summary = JobSummary(folder.output)

    def left(self, identity: dict[str, Any]) -> Iterator[Piece]:
        """Yields the pieces that are not written.

        Args:
            identity: everything that the parts depend on, besides the texts.

        Raises:
            OtherRun: the unfinished output belongs to a call with other values, or
                over other texts.
            ValueError, OSError: see `TextRows`.
        """
        self._open(identity | {"piece_bytes": self._piece_bytes})
        number = -1
        for number, piece in enumerate(pieces_of(self._rows, self._piece_bytes)):
            part = read_part(self._folder.part(number))
            if part is not None and part.digest == piece.digest:
                self._was_done(piece, part)
                continue
            self._refuse_others(part is not None)
            self._weights[number] = piece.weight
            yield piece
        others = self._folder.parts_from(number + 1)
        self._refuse_others(bool(others))
        for path in others:
            path.unlink()

    def _open(self, identity):
        try:
            self._folder.open(identity)
        except OtherRun:
            if not self._overwrite:
                raise
            self._folder.discard()
            self._folder.open(identity)
        self._progress.skip(0.0)  # the clock starts when the first worker is ready

    def _refuse_others(self, found):
        if found and not self._overwrite:
            raise OtherText(
                f"{self._folder.path} belongs to a run over other texts. Use those to "
                "resume, or ask to overwrite."
            )

    def _was_done(self, piece, part):
        self._summary = self._summary.with_part(part)
        self._add_share(piece.weight)
        if not self._summary.tokens_now:
            self._progress.skip(self._share)

    def finished(self, written: Written) -> None:
        """Counts a piece that was written."""
        part, again = written
        self._summary = self._summary.with_new_part(part, again)
        self._add_share(self._weights.pop(part.number))
        self._progress.add(part.tokens, self._share)

    def _add_share(self, weight):
        known = self._share is not None and weight is not None
        self._share = self._share + weight if known else None

    def finish(self, *, complete: bool) -> JobSummary:
        """Moves the output to its place; returns what was counted.

        Args:
            complete: whether all pieces are written.
        """
        if complete:
            self._folder.finish()
        return self._summary._replace(finished=complete, seconds=self._progress.seconds)
