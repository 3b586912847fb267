"""The folder in which an output grows, so that a kill costs no more than a part.

A part is a file of bytes, then its metadata in JSON, then the number of these bytes and a
checksum of all before it.
"""

import contextlib
import json
import os
import shutil
import time
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from elmo_keras.base.files import (
    LOCK,
    OtherRun,
    check_same_run,
    naming_damage,
    on_disk,
    only_process,
    replacing,
)

if TYPE_CHECKING:  # clients do without tqdm
    from elmo_keras.base.progress import Progress

JOB, PARTS, STARTED, WHOLE, EARLIER = "job.json", "parts", "started", "whole", "earlier"
_END = 8 + 4  # bytes of the size and of the checksum


@dataclass
class Summary:
    """The result of a job, with the work of calls before it."""

    output: Path
    finished: bool = False  # False if `stop` ended the call; the same call resumes
    sentences: int = 0
    tokens: int = 0
    seconds: float = 0.0  # since this call began to compute
    tokens_now: int = 0  # embedded by this call

    def __str__(self):
        rate = self.tokens_now / max(self.seconds, 1e-9)
        return (
            f"{self.sentences:,} sentences, {self.tokens:,} tokens, "
            f"{self.seconds:,.1f} s, {rate:,.0f} tokens/s: {self.output}"
        )


class Parts:
    """The folder `OUTPUT.unfinished` of a job, whose parts become OUTPUT.

    Parts of another `suffix` are files of another format, which `writing` writes. Then
    `read_metadata(path)` returns the metadata of one, with the `digest` of what it was
    made from, or None if it is missing or damaged.
    """

    def __init__(
        self,
        output: Path,
        suffix: str = ".part",
        read_metadata: Callable[[Path], dict[str, Any] | None] | None = None,
    ):
        self.output, self.path = output, folder_of(output).absolute()
        self.folder = self.path / PARTS  # holds all parts
        self.whole = self.path / WHOLE  # the file that is made of all parts
        self._suffix, self._overwrite = suffix, False
        self._read_metadata = read_metadata or read_part_metadata

    @contextlib.contextmanager
    def only_writer(self) -> Iterator[None]:
        """Makes and locks the folder; it is removed at the end if it has no part."""
        self.path.mkdir(exist_ok=True)  # without parents, which may be misspelt
        advice = "Wait for it, or give another name."
        with only_process(self.path, f"Another process writes {self.output}. {advice}"):
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
        self._check_output("Give another name, or overwrite it (`overwrite`).")
        advice = "Use the earlier values to resume, or overwrite (`overwrite`)."
        try:
            if (self.path / JOB).exists():
                check_same_run(_as_stored(job), self._read_job(), self.path, advice)
        except OtherRun:
            if not overwrite:
                raise
            self.discard()
        shutil.rmtree(self.path / STARTED, ignore_errors=True)
        for name in PARTS, STARTED:
            (self.path / name).mkdir(exist_ok=True)
        with replacing(self.path / JOB) as path:
            path.write_text(json.dumps(job))

    def check_open(self, job: dict[str, Any]) -> None:
        """Refuses to write a part for another job than the folder's."""
        if not (self.path / JOB).exists():
            raise ValueError(
                f"{self.path} should be a folder that all workers share. This worker "
                "doesn't find its job there."
            )
        advice = "All workers should read the same model with the same elmo-keras."
        started = self._read_job()
        started = {name: started.get(name) for name in job}
        check_same_run(_as_stored(job), started, self.path, advice)

    def _read_job(self):
        try:
            return dict(json.loads((self.path / JOB).read_text()))
        except (RecursionError, TypeError, ValueError) as error:
            raise OtherRun(
                f"{self.path} is damaged. Remove it, or overwrite (`overwrite`). {error}"
            ) from error

    def metadata(self, index: int, digest: str) -> dict[str, Any] | None:
        """The metadata of a part; None if it is to be made."""
        metadata = self._read_metadata(self.part(index))
        if metadata is None or metadata["digest"] == digest:
            return metadata
        self._refuse_others()

    def count(
        self,
        written: Iterable[tuple[bool, int, int]],
        bar: "Progress | None" = None,
        share: Callable[[int], float | None] = lambda _: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> Summary:
        """Counts parts, (is new, sentences, tokens), and removes parts of a longer run.

        The bar, if any, moves with each part.
        """
        summary, n_parts, start = Summary(self.output), 0, time.perf_counter()
        for is_new, n_sentences, n_tokens in written:
            n_parts += 1
            summary.sentences += n_sentences
            summary.tokens += n_tokens
            if is_new:
                summary.tokens_now += n_tokens
                if bar is not None:
                    bar.add(n_tokens, share(summary.sentences))
            else:
                if bar is not None:
                    bar.skip(n_tokens)
                start = time.perf_counter()
        if not stop():
            summary.finished = True
            for path in self.parts_from(n_parts):
                self._refuse_others()
                path.unlink()
        summary.seconds = time.perf_counter() - start
        return summary

    def _refuse_others(self):
        if not self._overwrite:
            raise OtherRun(
                f"{self.path} belongs to a run over other texts. Use those, or overwrite "
                "(`overwrite`)."
            )

    def part(self, index: int) -> Path:
        return self.folder / f"part-{index:07}{self._suffix}"

    def parts_from(self, index: int) -> list[Path]:
        paths = self.folder.glob(f"part-*{self._suffix}")
        return sorted(path for path in paths if path >= self.part(index))

    def write(
        self,
        index: int,
        pieces: Iterable[bytes | memoryview],
        metadata: dict[str, Any],
    ) -> None:
        """Writes the bytes of all pieces as a part; the metadata need a `digest`."""
        size = checksum = 0
        with self.writing(index) as file:
            for piece in pieces:
                size += file.write(piece)
                checksum = zlib.crc32(piece, checksum)
            file.write(_end(size, checksum, metadata))

    def read(
        self, *, check: bool = True
    ) -> Iterator[tuple[dict[str, Any], memoryview]]:
        """Yields the metadata and the bytes of each part."""
        for path in self.parts_from(0):
            yield read_part(path, check=check)

    @contextlib.contextmanager
    def writing(self, index: int) -> Iterator[BinaryIO]:
        """A file that becomes the part when it is whole and on the disk."""
        path = self.path / STARTED / f"{self.part(index).name}.{uuid.uuid4().hex}"
        try:
            with on_disk(path, "xb") as file:
                yield file
            os.replace(path, self.part(index))
        finally:
            path.unlink(missing_ok=True)

    def finish(self, whole: Path) -> None:
        """Makes the file or the folder of all parts the output."""
        self._check_output(
            f"Another program made it; all parts stay in {self.path}. Move it away and "
            "repeat the command, or overwrite it (`overwrite`)."
        )
        if whole.is_dir() and self.output.exists():
            os.replace(self.output, self.path / EARLIER)
        os.replace(whole, self.output)
        self.discard()

    def _check_output(self, advice):
        """Refuses to replace an output, which another process may have written by now."""
        is_empty = self.output.is_dir() and not any(self.output.iterdir())
        if os.path.lexists(self.output) and not (is_empty or self._overwrite):
            raise ValueError(f"{self.output} exists. {advice}")

    def discard(self) -> None:
        """Removes the files of a job, and nothing else in its folder."""
        for name in JOB, WHOLE:
            (self.path / name).unlink(missing_ok=True)
        for name in PARTS, STARTED, EARLIER:
            if (self.path / name).exists():
                shutil.rmtree(self.path / name)


def folder_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.unfinished")


def _as_stored(values):
    return json.loads(json.dumps(values))


def _end(size, checksum, metadata):
    content = json.dumps(metadata).encode()
    checksum = zlib.crc32(content, checksum)
    return content + size.to_bytes(8) + checksum.to_bytes(4)


def make_part(path: Path, metadata: dict[str, Any]) -> None:
    """Writes metadata and a checksum after the bytes of a file, whose format allows it."""
    content = np.memmap(path, np.uint8, "r").data
    with on_disk(path, "ab") as file:
        file.write(_end(len(content), zlib.crc32(content), metadata))


def check_part(path: Path, now: dict[str, Any], advice: str) -> dict[str, Any]:
    """The metadata of a file of `make_part`, which should have these values."""
    with naming_damage(f"{path} is damaged, or of another program. {advice}"):
        then = dict(read_part(path, check=False)[0])
    check_same_run(now, {name: then.get(name) for name in now}, path, advice)
    return then


def read_part(path: Path, *, check: bool = True) -> tuple[dict[str, Any], memoryview]:
    """The metadata and the bytes of a part, compared with their checksum."""
    content = np.memmap(path, np.uint8, "r").data
    content, end = content[:-_END], content[-_END:]
    size, checksum = int.from_bytes(end[:8]), int.from_bytes(end[8:])
    if check and zlib.crc32(content) != checksum:
        raise ValueError(
            f"{path} was damaged after it was written. Repeat the same command."
        )
    return json.loads(bytes(content[size:])), content[:size]


def read_part_metadata(path: Path) -> dict[str, Any] | None:
    """The metadata of a part; None if it is missing, cut short or damaged."""
    with contextlib.suppress(OSError, ValueError):
        return read_part(path)[0]
    return None
