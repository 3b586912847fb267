"""Files of an archive in a temporary folder, for what can only be read by its path."""

import shutil
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from elmo_keras.model_files.archives import Archive


class UnpackedFiles:
    """Files of an open archive, unpacked side by side.

    Their folder is deleted together with this object, or when the program ends.

    Args:
        archive: an open archive, which bounds what its files unpack to.

    Attributes:
        folder: the temporary folder.
    """

    def __init__(self, archive: Archive):
        self.folder = Path(tempfile.mkdtemp(prefix="elmo_keras-"))
        self._archive = archive
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def add(self, names: Iterable[str]) -> None:
        """Unpacks files, each under the last part of its name.

        Args:
            names: names of `archive.members`, all of one folder.

        Raises:
            ValueError: a file is damaged; the message names it.
            OSError: the disk is full.
        """
        for name in names:
            size = self._archive.members[name].size
            path = self.folder / PurePosixPath(name).name
            with self._archive.open(name, size) as file, path.open("wb") as unpacked:
                shutil.copyfileobj(file, unpacked)
                if unpacked.tell() < size:
                    raise ValueError("It ends too early.")
