"""The folder in which a file grows until it is finished."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from elmo_keras.cli.locking import LOCK, only_process
from elmo_keras.embed.journal import (
    DATA,
    JOURNAL,
    JournaledFile,
    synchronize_folder,
)

CONVERTED = "converted"  # the finished file, if it has another format than `data`
FILES = DATA, JOURNAL, f"{JOURNAL}.new", CONVERTED


class OtherRun(ValueError):
    """The unfinished file is damaged, or belongs to a run with other values."""


class OtherText(OtherRun):
    """The unfinished file belongs to a run over another text."""


class Unfinished:
    """A `JournaledFile` in the folder `OUTPUT.unfinished` that becomes OUTPUT.

    Args:
        output: the path of the finished file. An earlier file stays in place until
            this one is finished.
        identity: everything that the content depends on, as JSON values. A run
            resumes only with the same identity.

    Attributes:
        file: the `JournaledFile`.
        done: `done` of the last commit, or None.

    Raises:
        OtherRun: the folder belongs to a different run, or is damaged.
    """

    def __init__(self, output: Path, identity: dict[str, Any]):
        self.output, self.identity = output, identity
        self.folder = folder_of(output)
        self.file = self._opened()
        note = self.file.note or {"identity": identity, "done": None}
        self.done = note["done"]
        self._check(note["identity"])

    def _opened(self):
        try:
            return JournaledFile(self.folder)
        except (ValueError, KeyError, TypeError) as error:
            raise OtherRun(
                f"{self.folder} is damaged. Remove it, or ask to overwrite. {error}"
            ) from error

    def _check(self, found):
        try:
            check_same_run(self.folder, found, self.identity)
        except OtherRun:
            self.file.close()
            raise

    def commit(self, done: Any) -> None:
        """Makes everything written so far permanent, with a note of the run's progress.

        Raises:
            OSError: the disk is full or fails; the last commit stays.
        """
        self.file.commit({"identity": self.identity, "done": done})

    def finish(self, converted: Path | None = None) -> None:
        """Moves the finished file to its path, in place of an earlier one.

        Args:
            converted: the finished file, if it is not `file` itself.
        """
        self.file.close()
        os.replace(converted or self.file.path, self.output)
        synchronize_folder(self.output.absolute().parent)
        remove_unfinished(self.output)

    def close(self) -> None:
        """Closes the file; removes it unless a run can resume from it."""
        self.file.close()
        if not (self.file.note and self.file.note["done"]):
            remove_unfinished(self.output)


def check_same_run(
    folder: Path, found: dict[str, Any], identity: dict[str, Any]
) -> None:
    """Refuses to resume a run that depends on other values.

    Args:
        folder: the folder of the unfinished output.
        found: the identity of the run that it belongs to.
        identity: the identity of this run.

    Raises:
        OtherRun: they differ; the message says in what.
    """
    differ = [key for key, value in identity.items() if found.get(key) != value]
    if differ:
        was, now = ([of.get(key) for key in differ] for of in (found, identity))
        raise OtherRun(
            f"{folder} belongs to a run that differs in: {', '.join(differ)}. "
            f"It had {was}, this run has {now}. Use the earlier values to resume, "
            "or ask to overwrite."
        )


def folder_of(output: Path) -> Path:
    """The folder in which a file grows."""
    return output.with_name(f"{output.name}.unfinished")


def remove_unfinished(output: Path) -> None:
    """Removes the files of an unfinished run, and nothing else in its folder."""
    for name in FILES:
        (folder_of(output) / name).unlink(missing_ok=True)


@contextlib.contextmanager
def only_run(output: Path) -> Iterator[None]:
    """Makes the folder and locks it; removes it at the end if nothing is left in it.

    Raises:
        ValueError: another process writes the same output.
        OSError: the folder can't be made.
    """
    folder = folder_of(output)
    folder.mkdir(exist_ok=True)  # without parents, which may be misspelt
    refusal = f"Another process writes {output}. Wait for it, or give another name."
    with only_process(folder, refusal):
        try:
            yield
        finally:
            if [path.name for path in folder.iterdir()] == [LOCK]:
                shutil.rmtree(folder)
