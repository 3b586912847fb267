"""The folder in which a file grows until it is whole."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from elmo_keras.embedding.journal import JournaledFile, synchronize_folder

LOCK = "lock"


class Unfinished:
    """A `JournaledFile` in the folder `OUTPUT.unfinished`, to become OUTPUT.

    Args:
        output: the path in the end.
        identity: what makes the content what it is, as JSON can hold it. It has to
            be the same when a run goes on.
        overwrite: whether what is there already is thrown away.

    Attributes:
        file: the `JournaledFile`; its notes are those of `commit`.
        done: what the last commit was told, or None.

    Raises:
        ValueError: `output` exists, or the folder is of a run that differs.
    """

    def __init__(self, output: Path, identity: dict[str, Any], overwrite: bool):
        self.output, self.identity = output, identity
        self.folder = folder_of(output)
        if overwrite:
            output.unlink(missing_ok=True)
            self._remove_files()
        if output.exists():
            raise ValueError(
                f"{output} exists. Give another name, or ask to overwrite it."
            )
        self.file = JournaledFile(self.folder)
        note = self.file.note or {"identity": identity, "done": None}
        self.done = note["done"]
        self._check(note["identity"])

    def _check(self, found):
        differ = [k for k, v in self.identity.items() if found.get(k) != v]
        if differ:
            was, now = ([of.get(k) for k in differ] for of in (found, self.identity))
            raise ValueError(
                f"{self.folder} is of a run that differs in: {', '.join(differ)}. It "
                f"was {was}, now it is {now}. Run as then to go on, or ask to overwrite."
            )

    def commit(self, done: Any) -> None:
        """Keeps what was written, and how far the run is.

        Raises:
            OSError: the disk is full or fails; what was kept before stays.
        """
        self.file.commit({"identity": self.identity, "done": done})

    def finish(self) -> None:
        """Puts the file in its place."""
        self.file.close()
        os.replace(self.file.path, self.output)
        synchronize_folder(self.output.absolute().parent)
        self._remove_files()

    def close(self) -> None:
        """Closes the file; removes it unless there is something to go on with."""
        self.file.close()
        if not (self.file.note and self.file.note["done"]):
            self._remove_files()

    def _remove_files(self):
        for path in self.folder.iterdir():
            if path.name != LOCK:
                path.unlink()


def folder_of(output: Path) -> Path:
    """The folder in which a file grows."""
    return output.with_name(f"{output.name}.unfinished")


@contextlib.contextmanager
def only_run(output: Path) -> Iterator[None]:
    """Makes the folder, and refuses to work where another process does.

    The folder goes with the last file in it.

    Raises:
        ValueError: another process is at work.
        OSError: there can't be such a folder.
    """
    folder = folder_of(output)
    folder.mkdir(exist_ok=True)
    with (folder / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"Another process writes {output}. Wait for its end, or give another "
                "name."
            ) from None
        try:
            yield
        finally:
            if [path.name for path in folder.iterdir()] == [LOCK]:
                shutil.rmtree(folder)
