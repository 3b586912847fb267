"""The folder in which an output grows, part by part, until all are there."""

import contextlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from elmo_keras.util.fingerprint import OtherRun, check_same_run
from elmo_keras.util.locking import LOCK, only_process
from elmo_keras.util.replacing import replacing

JOB, PARTS, BEGUN, WHOLE, EARLIER = "job.json", "parts", "begun", "whole", "earlier"
FORMER = "data", "journal", "journal.new", "converted"  # until elmo-keras 0.3


class Parts:
    """The folder `OUTPUT.unfinished` of a run, whose parts become OUTPUT.

    A part is written in `begun` and moved to `parts` when it is whole and on the disk.
    `note_of(path)` returns what a part says about itself, with the `digest` of its
    sentences, or None if it is missing or damaged.
    """

    def __init__(
        self,
        output: Path,
        suffix: str,
        note_of: Callable[[Path], dict[str, Any] | None],
    ):
        self.output, self.path = output, folder_of(output).absolute()
        self._suffix, self._note_of, self._overwrite = suffix, note_of, False

    @contextlib.contextmanager
    def only_writer(self) -> Iterator[None]:
        """Makes and locks the folder; it is removed at the end if it has no part."""
        self.path.mkdir(exist_ok=True)  # without parents, which may be misspelt
        refusal = (
            f"Another process writes {self.output}. Wait for it, or give another name."
        )
        with only_process(self.path, refusal):
            try:
                yield
            finally:
                if not self._is_former() and not self.parts_from(0):
                    self.discard()
                if [path.name for path in self.path.iterdir()] == [LOCK]:
                    shutil.rmtree(self.path)

    def open(self, identity: dict[str, Any], *, overwrite: bool = False) -> None:
        self._overwrite = overwrite
        try:
            advice = "Use the earlier values to resume, or ask to overwrite."
            if begun := self._begun():
                check_same_run(_as_stored(identity), begun, self.path, advice)
        except OtherRun:
            if not overwrite:
                raise
            self.discard()
        for name in PARTS, BEGUN:
            (self.path / name).mkdir(exist_ok=True)
        with replacing(self.path / JOB) as path:
            path.write_text(json.dumps(identity))
        _synchronize(self.path)

    def check_open(self, identity: dict[str, Any]) -> None:
        """Refuses to write a part for a run that is not the one of the folder."""
        if not (self.path / JOB).exists():
            raise ValueError(
                f"{self.path} should be a folder that all workers share, such as one "
                "of a network file system. This worker doesn't find its job there."
            )
        advice = "All workers should read the same model with the same elmo-keras."
        begun = self._begun()
        begun = {name: begun.get(name) for name in identity}
        check_same_run(_as_stored(identity), begun, self.path, advice)

    def _begun(self):
        if self._is_former():
            raise OtherRun(
                f"{self.path} was begun by elmo-keras 0.3 or earlier, and only that "
                "version can resume it. Remove the folder, or ask to overwrite."
            )
        job = self.path / JOB
        try:
            return dict(json.loads(job.read_text())) if job.exists() else {}
        except (RecursionError, TypeError, ValueError) as error:
            raise OtherRun(
                f"{self.path} is damaged. Remove it, or ask to overwrite. {error}"
            ) from error

    def _is_former(self):
        return any((self.path / name).exists() for name in FORMER)

    def note(self, number: int, digest: str) -> dict[str, Any] | None:
        """What a part says about itself; None if it is to be computed."""
        note = self._note_of(self.part(number))
        if note is not None and note["digest"] != digest:
            self._refuse_others()
            return None
        return note

    def end(self, number: int) -> None:
        """Removes this part and all after it, which are of a longer run."""
        if others := self.parts_from(number):
            self._refuse_others()
        for path in others:
            path.unlink()

    def _refuse_others(self):
        if not self._overwrite:
            raise OtherRun(
                f"{self.path} belongs to a run over other texts. Use those to resume, "
                "or ask to overwrite."
            )

    def part(self, number: int) -> Path:
        return self.path / PARTS / f"part-{number:07}{self._suffix}"

    def parts_from(self, number: int) -> list[Path]:
        paths = (self.path / PARTS).glob("part-*")
        return sorted(path for path in paths if path >= self.part(number))

    def begun(self, number: int) -> list[Path]:
        """What was written of a part by processes that ended before it was whole."""
        return list((self.path / BEGUN).glob(f"{self.part(number).name}.*"))

    @contextlib.contextmanager
    def writing(self, number: int) -> Iterator[BinaryIO]:
        """A file that becomes the part when it is whole and on the disk."""
        path = self.path / BEGUN / f"{self.part(number).name}.{uuid.uuid4().hex}"
        try:
            with path.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(path, self.part(number))
            _synchronize(self.path / PARTS)
        finally:
            path.unlink(missing_ok=True)

    def finish(self, write: Callable[[Path], None] | None = None) -> None:
        """Moves the output to its place, in place of an earlier one."""
        whole = self.path / (PARTS if write is None else WHOLE)
        if write is not None:
            write(whole)
        elif self.output.exists():
            os.replace(self.output, self.path / EARLIER)
        os.replace(whole, self.output)
        _synchronize(self.output.absolute().parent)
        self.discard()

    def discard(self) -> None:
        """Removes all that a run has left, and nothing else in its folder."""
        for name in JOB, WHOLE, *FORMER:
            (self.path / name).unlink(missing_ok=True)
        for name in PARTS, BEGUN, EARLIER:
            if (self.path / name).exists():
                shutil.rmtree(self.path / name)


def folder_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.unfinished")


def _as_stored(values):
    return json.loads(json.dumps(values))


def _synchronize(folder):
    """Makes the names of the files in a folder survive a power cut, where that is possible."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows opens no folders
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
