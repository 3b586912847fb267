"""Outputs: their types, checks before the work, and the folder in which one grows."""

import contextlib
import itertools
import json
import math
import os
import shutil
import time
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from elmo_keras.base.argument_checks import import_extra
from elmo_keras.base.files import (
    LOCK,
    OtherRun,
    check_same_run,
    on_disk,
    only_process,
    replacing,
)
from elmo_keras.commands.outputs import check_apart, check_file, check_folder

if TYPE_CHECKING:  # clients do without tqdm
    from elmo_keras.base.progress import Progress

HDF5_SUFFIXES = ".hdf5", ".h5"
ARRAY_SUFFIXES = *HDF5_SUFFIXES, ".npy"
SUFFIXES = *ARRAY_SUFFIXES, ".parquet"
JOB, PARTS, STARTED, WHOLE, EARLIER = "job.json", "parts", "started", "whole", "earlier"
MAX_TEXT_BYTES = 2**28  # of all sentences in `sentence_to_index`


@dataclass
class Summary:
    """The result of a job, with the work of calls before it."""

    output: Path
    finished: bool = False  # False if `stop` ended the call; the same call resumes
    sentences: int = 0
    tokens: int = 0
    seconds: float = 0.0  # since this call began to compute
    tokens_now: int = 0  # that this call embedded

    def __str__(self):
        rate = self.tokens_now / max(self.seconds, 1e-9)
        return (
            f"{self.sentences:,} sentences, {self.tokens:,} tokens, "
            f"{self.seconds:,.1f} s, {rate:,.0f} tokens/s: {self.output}"
        )


class Parts:
    """The folder `OUTPUT.unfinished` of a job, whose parts become OUTPUT.

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
        self.folder = self.path / PARTS  # of all parts
        self.whole = self.path / WHOLE  # the file that is made of all parts
        self._suffix, self._read, self._overwrite = suffix, read_metadata, False

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
        """Refuses to write a part for a job that is not the one of the folder."""
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
        """The metadata of a part; None if it is to be computed."""
        metadata = self._read(self.part(index))
        if metadata is None or metadata["digest"] == digest:
            return metadata
        self._refuse_others()

    def count(
        self,
        written: Iterable[tuple[bool, int, int]],
        bar: "Progress",
        share: Callable[[int], float | None],
        stop: Callable[[], bool],
    ) -> Summary:
        """Counts parts, (is new, sentences, tokens), and removes those of a longer run."""
        summary, n_parts, start = Summary(self.output), 0, time.perf_counter()
        for is_new, n_sentences, n_tokens in written:
            n_parts += 1
            summary.sentences += n_sentences
            summary.tokens += n_tokens
            if is_new:
                summary.tokens_now += n_tokens
                bar.add(n_tokens, share(summary.sentences))
            else:
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
        paths = self.folder.glob("part-*")
        return sorted(path for path in paths if path >= self.part(index))

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
        """Refuses to replace what is there: of another process, since the first look."""
        is_empty = self.output.is_dir() and not any(self.output.iterdir())
        if os.path.lexists(self.output) and not (is_empty or self._overwrite):
            raise ValueError(f"{self.output} exists. {advice}")

    def discard(self) -> None:
        """Removes all that a job has left, and nothing else in its folder."""
        for name in JOB, WHOLE:
            (self.path / name).unlink(missing_ok=True)
        for name in PARTS, STARTED, EARLIER:
            if (self.path / name).exists():
                shutil.rmtree(self.path / name)


def folder_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.unfinished")


def _as_stored(values):
    return json.loads(json.dumps(values))


def write_part(
    parts: Parts, index: int, vectors: Sequence[np.ndarray], metadata: dict[str, Any]
) -> None:
    """Writes a `.npy` of all values, sentence after sentence, and the metadata after it."""
    values = np.concatenate([np.ravel(array) for array in vectors])
    header = np.lib.format.header_data_from_array_1_0(values)
    with parts.writing(index) as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.write(values.data)
        file.write(json.dumps(metadata | {"crc32": zlib.crc32(values.data)}).encode())


def read_part_metadata(path: Path) -> dict[str, Any] | None:
    try:
        return {"digest": None} | _read(path)[0]
    except Exception:  # reading a damaged header, numpy also raises tokenize's errors
        return None


def read_parts(
    paths: Sequence[Path], shape: tuple[int | None, ...]
) -> Iterator[tuple[dict[str, Any], list[np.ndarray]]]:
    for path in paths:
        metadata, values = _read(path)
        shapes = [[n if d is None else d for d in shape] for n in metadata["lengths"]]
        ends = list(itertools.accumulate(map(math.prod, shapes)))
        arrays = zip(shapes, [0, *ends], ends)
        yield metadata, [values[start:end].reshape(one) for one, start, end in arrays]


def _read(path, *, whole=True):
    """The metadata of a part, and its values, which are compared with their checksum."""
    values = np.load(path, mmap_mode="r")
    with path.open("rb") as file:
        file.seek(values.offset + values.nbytes)
        metadata = json.loads(file.read())
    if whole and zlib.crc32(values.data) != metadata["crc32"]:
        raise ValueError(
            f"{path} was damaged after it was written. Repeat the same command."
        )
    return metadata, np.asarray(values)


def sentence_to_index(paths: Sequence[Path]) -> dict[str, str] | None:
    """The last index of each text; None for too much text."""
    last, left = {}, MAX_TEXT_BYTES
    for path in paths:
        metadata, _ = _read(path, whole=False)
        for text, index in zip(metadata["texts"], metadata["sentences"]):
            left -= 0 if text in last else len(text.encode())
            if left < 0:
                return None
            last[text] = max(index, last.get(text, 0))
    ordered = sorted(last.items(), key=lambda item: item[1])
    return {text: str(index) for text, index in ordered}


def check_output(
    output: Path,
    inputs: Iterable[Path],
    *,
    overwrite: bool,
    shard: tuple[int, int] = (1, 1),
    pooling: str | None = None,
    suffixes: Sequence[str] = SUFFIXES,
) -> Path:
    index, count = shard
    if not 1 <= index <= count:
        raise ValueError(
            f"`shard` should be (i, n) with i from 1 to n. Received: {shard!r}"
        )
    if count > 1:
        output = output.with_name(f"{output.stem}.{index}-of-{count}{output.suffix}")
    check_suffix(output, suffixes)
    check_apart([output, folder_of(output)], inputs)
    check_file(output)
    check_folder(folder_of(output))
    if output.exists() and not overwrite:
        raise ValueError(
            f"{output} exists. Give another name, or overwrite it (`overwrite`)."
        )
    if pooling and is_hdf5(output):
        raise ValueError(
            "HDF5 holds the vectors of tokens. For a vector of each sentence, the "
            f"output should end in .npy or .parquet. Received: {output}"
        )
    return output


def check_output_folder(
    output: Path, inputs: Iterable[Path], *, overwrite: bool
) -> None:
    if output.suffix.lower() in ARRAY_SUFFIXES:
        raise ValueError(
            "A corpus is written as a folder of Parquet files, whose name should not "
            f"end in {output.suffix}. Received: {output}"
        )
    check_apart([output, folder_of(output)], inputs)
    if not output.absolute().parent.is_dir():
        raise ValueError(
            f"There is no folder {output.parent} for {output}. Make it first."
        )
    check_folder(output)
    check_folder(folder_of(output))
    names = sorted(path.name for path in output.iterdir()) if output.exists() else []
    if names and not overwrite:
        raise ValueError(
            f"{output} exists. Give another name, or overwrite it (`overwrite`)."
        )
    others = [name for name in names if not name.startswith("part-")]
    if others:
        raise ValueError(
            f"{output} holds more than the parts of an earlier output: {others[0]}. It "
            "is not overwritten. Give another name."
        )


def is_npy(path: Path) -> bool:
    return path.suffix.lower() == ".npy"


def is_hdf5(path: Path) -> bool:
    return path.suffix.lower() in HDF5_SUFFIXES


def is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def check_suffix(path: Path, suffixes: Sequence[str] = SUFFIXES) -> None:
    if path.suffix.lower() not in suffixes:
        raise ValueError(
            f"The output should end in {' or '.join(suffixes)}, in upper or lower "
            f"case. Received: {path}"
        )
    if is_parquet(path):
        import_extra("pyarrow", "parquet", "Parquet needs pyarrow")
