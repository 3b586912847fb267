"""The folder in which an output grows, part by part, until all are there."""

import contextlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from elmo_keras.util.files import (
    LOCK,
    OtherRun,
    check_same_run,
    only_process,
    replacing,
)

JOB, PARTS, BEGUN, WHOLE, EARLIER = "job.json", "parts", "begun", "whole", "earlier"


class Parts:
    """The folder `OUTPUT.unfinished` of a run, whose parts become OUTPUT.

    A part is written in `begun` and moved to `parts` when it is whole and on the disk.
    `read_metadata(path)` returns the metadata of a part, with the `digest` of its
    sentences, or None if it is missing or damaged.
    """

    def __init__(
        self,
        output: Path,
        suffix: str,
        read_metadata: Callable[[Path], dict[str, Any] | None],
    ):
        self.output, self.path = output, folder_of(output).absolute()
        self._suffix, self._read, self._overwrite = suffix, read_metadata, False

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
                if not self.parts_from(0):
                    self.discard()
                if [path.name for path in self.path.iterdir()] == [LOCK]:
                    shutil.rmtree(self.path)

    def open(self, job: dict[str, Any], *, overwrite: bool = False) -> None:
        """Starts or resumes a job; refuses to resume one with other values."""
        self._overwrite = overwrite
        try:
            advice = "Use the earlier values to resume, or ask to overwrite."
            if started := self._read_job():
                check_same_run(_as_stored(job), started, self.path, advice)
        except OtherRun:
            if not overwrite:
                raise
            self.discard()
        shutil.rmtree(self.path / BEGUN, ignore_errors=True)
        for name in PARTS, BEGUN:
            (self.path / name).mkdir(exist_ok=True)
        with replacing(self.path / JOB) as path:
            path.write_text(json.dumps(job))
        _synchronize(self.path)

    def check_open(self, job: dict[str, Any]) -> None:
        """Refuses to write a part for a job that is not the one of the folder."""
        if not (self.path / JOB).exists():
            raise ValueError(
                f"{self.path} should be a folder that all workers share, such as one "
                "of a network file system. This worker doesn't find its job there."
            )
        advice = "All workers should read the same model with the same elmo-keras."
        started = self._read_job()
        started = {name: started.get(name) for name in job}
        check_same_run(_as_stored(job), started, self.path, advice)

    def _read_job(self):
        path = self.path / JOB
        try:
            return dict(json.loads(path.read_text())) if path.exists() else {}
        except (RecursionError, TypeError, ValueError) as error:
            raise OtherRun(
                f"{self.path} is damaged. Remove it, or ask to overwrite. {error}"
            ) from error

    def metadata(self, index: int, digest: str) -> dict[str, Any] | None:
        """The metadata of a part; None if it is to be computed."""
        metadata = self._read(self.part(index))
        if metadata is not None and metadata["digest"] != digest:
            self._refuse_others()
            return None
        return metadata

    def end(self, index: int) -> None:
        """Removes this part and all after it, which are of a longer run."""
        if others := self.parts_from(index):
            self._refuse_others()
        for path in others:
            path.unlink()

    def _refuse_others(self):
        if not self._overwrite:
            raise OtherRun(
                f"{self.path} belongs to a run over other texts. Use those to resume, "
                "or ask to overwrite."
            )

    def part(self, index: int) -> Path:
        return self.folder / f"part-{index:07}{self._suffix}"

    def parts_from(self, index: int) -> list[Path]:
        paths = self.folder.glob("part-*")
        return sorted(path for path in paths if path >= self.part(index))

    @contextlib.contextmanager
    def writing(self, index: int) -> Iterator[BinaryIO]:
        """A file that becomes the part when it is whole and on the disk."""
        path = self.path / BEGUN / f"{self.part(index).name}.{uuid.uuid4().hex}"
        try:
            with path.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(path, self.part(index))
            _synchronize(self.folder)
        finally:
            path.unlink(missing_ok=True)

    @property
    def folder(self) -> Path:
        """Of all parts."""
        return self.path / PARTS

    @property
    def whole(self) -> Path:
        """Of a file that is made of all parts."""
        return self.path / WHOLE

    def finish(self, whole: Path) -> None:
        """Makes the file or the folder of all parts the output."""
        if whole.is_dir() and self.output.exists():
            os.replace(self.output, self.path / EARLIER)
        os.replace(whole, self.output)
        _synchronize(self.output.absolute().parent)
        self.discard()

    def discard(self) -> None:
        """Removes all that a job has left, and nothing else in its folder."""
        for name in JOB, WHOLE:
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
