"""The folder in which the parts of an output grow until all are there."""

import json
import os
import shutil
import uuid
from pathlib import Path
from typing import Any

from elmo_keras.cli.outputs import check_apart, check_folder
from elmo_keras.cli.replacing import replacing
from elmo_keras.embed.journal import synchronize_folder
from elmo_keras.embed.unfinished import check_same_run, folder_of

JOB, PARTS, BEGUN, EARLIER = "job.json", "parts", "begun", "earlier"
FILE_SUFFIXES = ".hdf5", ".h5", ".npy"


class JobFolder:
    """The folder `OUTPUT.unfinished` of a job, whose `parts` become OUTPUT.

    A part is written under another name in `begun` and moved to its place when it is
    whole and on the disk. So a part in `parts` is whole, whatever happens to the
    processes that write, and a part that is written twice is there once.

    Args:
        output: the folder of the finished parts.

    Attributes:
        path: the folder.
    """

    def __init__(self, output: Path):
        self.output, self.path = output, folder_of(output).absolute()

    def open(self, identity: dict[str, Any]) -> None:
        """Begins the job, or resumes it.

        Args:
            identity: everything that the vectors depend on, as JSON values.

        Raises:
            OtherRun: the folder belongs to a job with other values.
        """
        if self.has_job:
            check_same_run(self.path, self._job(), identity)
        for name in PARTS, BEGUN:
            (self.path / name).mkdir(exist_ok=True)
        with replacing(self.path / JOB) as path:
            path.write_text(json.dumps(identity))
        synchronize_folder(self.path)

    @property
    def has_job(self) -> bool:
        """Whether a job was begun."""
        return (self.path / JOB).exists()

    def check_open(self, identity: dict[str, Any]) -> None:
        """Refuses to write for a job that is not the one of the folder.

        Raises:
            ValueError: this machine doesn't see the folder, or it now belongs to
                another job.
        """
        if not self.has_job:
            raise ValueError(
                f"{self.path} should be a folder that all workers share, such as one "
                "of a network file system. This worker doesn't find its job there."
            )
        check_same_run(self.path, self._job(), identity)

    def _job(self):
        try:
            return json.loads((self.path / JOB).read_text())
        except ValueError as error:
            raise ValueError(
                f"{self.path / JOB} is damaged. Ask to overwrite. {error}"
            ) from error

    def part(self, number: int) -> Path:
        """The path of a part."""
        return self.path / PARTS / part_name(number)

    def parts_from(self, number: int) -> list[Path]:
        """The paths of this part and all after it that are there."""
        paths = (self.path / PARTS).glob("part-*")
        return sorted(path for path in paths if path.name >= part_name(number))

    def new_part(self, number: int) -> Path:
        """A path at which a part can be written before it is moved to its place."""
        return self.path / BEGUN / f"{part_name(number)}.{uuid.uuid4().hex}"

    def begun_parts(self, number: int) -> list[Path]:
        """What was written of a part by processes that ended before it was whole."""
        return list((self.path / BEGUN).glob(f"{part_name(number)}.*"))

    def discard(self) -> None:
        """Removes all that an unfinished job has left."""
        (self.path / JOB).unlink(missing_ok=True)
        for name in PARTS, BEGUN, EARLIER:
            if (self.path / name).exists():
                shutil.rmtree(self.path / name)

    def finish(self) -> None:
        """Moves the parts to the output, in place of an earlier one."""
        if self.output.exists():
            os.replace(self.output, self.path / EARLIER)
        os.replace(self.path / PARTS, self.output)
        synchronize_folder(self.output.absolute().parent)
        self.discard()

    def close(self) -> None:
        """Removes what was begun; the job too, unless it can be resumed."""
        if not any((self.path / PARTS).glob("*")):
            self.discard()


def part_name(number: int) -> str:
    """The file name of a part; their order is that of the sentences."""
    return f"part-{number:07}.parquet"


def checked_folder(output: Path, inputs: list[Path], *, overwrite: bool) -> None:
    """Refuses an output at which no folder of parts can be made.

    Args:
        output: the folder of the finished parts.
        inputs: files and folders that are read.
        overwrite: whether the output may exist.

    Raises:
        ValueError: its name is that of another format, it exists, would change an
            input, or nothing can be written there.
        OSError: the disk is full or fails.
    """
    if output.suffix.lower() in FILE_SUFFIXES:
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
    _check_content(output, overwrite)


def _check_content(output, overwrite):
    found = sorted(path.name for path in output.iterdir()) if output.exists() else []
    if found and not overwrite:
        raise ValueError(f"{output} exists. Give another name, or ask to overwrite it.")
    others = [name for name in found if not name.startswith("part-")]
    if others:
        raise ValueError(
            f"{output} holds more than the parts of an earlier output: {others[0]}. It "
            "is not overwritten. Give another name."
        )
