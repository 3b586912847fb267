"""Names and bounded reads: the files of a model in a directory or in an archive."""

import fnmatch
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from elmo_keras.formats.archives import Archive
from elmo_keras.formats.hdf5 import Content
from elmo_keras.hub.catalogue import SOFTMAX
from elmo_keras.util.command import shortened

PUBLISHED_SOFTMAX = "*softmax*.hdf5"
_NOT_OF_THE_MODEL = {"training", "__MACOSX"}  # folders of an archive


class Prefix:
    """The path of a checkpoint's files without endings; temporary ones end with it."""

    def __init__(self, path: Path, temporary: bool = False):
        self.path = path
        if temporary:
            weakref.finalize(self, shutil.rmtree, path.parent, ignore_errors=True)


class Folder:
    """The files of a directory, and those of its folders that a layout knows.

    Of the names of two checkpoints the later one in `names` is younger.
    """

    def __init__(self, place: Path):
        paths = [*place.iterdir(), *(place / "variables").glob("*"), place / SOFTMAX]
        found = [path for path in paths if path.is_file()]
        found.sort(key=lambda path: path.stat().st_mtime)
        self.place = place
        self.names = [path.relative_to(place).as_posix() for path in found]

    def matching(self, pattern: str) -> list[str]:
        """The files whose name, in whatever folder, matches a pattern."""
        return [n for n in self.names if fnmatch.fnmatchcase(_last(n), pattern)]

    def only(self, name: str, pattern: str, but: str | None = None) -> str | None:
        """The file whose path ends with a name, or the only match of a pattern, or None."""
        others = self.matching(but) if but else []
        found = [n for n in self.matching(pattern) if n not in others]
        named = [n for n in found if f"/{n}".endswith(f"/{name}")]
        if len(named or found) > 1:
            raise ValueError(
                f"{self.place} should hold {name} or one file of another name "
                f"({pattern}). Found: {', '.join(sorted(found)[:4])}. Move the others "
                "elsewhere."
            )
        return (named or found or [None])[0]

    def required(self, name: str, pattern: str, but: str | None = None) -> str:
        found = self.only(name, pattern, but)
        if found is None:
            raise FileNotFoundError(
                f"{self.place} should hold {name} or one file {pattern}. Found: "
                f"{shortened(sorted(self.names))}"
            )
        return found

    def has(self, name: str) -> bool:
        return any(_last(n) == name for n in self.names)

    def content(self, name: str, most: int) -> Content:
        found = [n for n in self.names if n == name or _last(n) == name]
        if not found:
            raise FileNotFoundError(f"{self.place} lacks {name}.")
        return self._content(min(found, key=len), most)

    def content_if_any(self, name: str, most: int) -> Content | None:
        return self.content(name, most) if self.has(name) else None

    def _content(self, name, most):
        path = self.place / name
        if path.stat().st_size > most:
            raise ValueError(f"{path} should have at most {most:,} bytes.")
        return Content(str(path), path.read_bytes())

    def source(self, name: str, most: Callable[[], int]) -> Path | Content:
        """A file that may be large: its path, or its content, up to `most()` bytes."""
        return self.place / name

    def on_disk(self, prefix: str) -> Prefix:
        return Prefix(self.place / prefix)


class ArchiveFolder(Folder):
    """The files of an open archive, in whatever folders, without those of a softmax."""

    def __init__(self, archive: Archive):
        self.place, self._archive = archive.path, archive
        # A softmax would have to be held in memory as a whole.
        self.names = [
            name
            for name in archive.sizes
            if not _NOT_OF_THE_MODEL.intersection(PurePosixPath(name).parts[:-1])
            and not fnmatch.fnmatchcase(name, PUBLISHED_SOFTMAX)
        ]

    def _content(self, name, most):
        return Content(f"{name} in {self.place}", self._archive.read(name, most))

    def source(self, name, most):
        return self._content(name, most())

    def on_disk(self, prefix):
        folder = Path(tempfile.mkdtemp(prefix="elmo_keras-"))
        files = Prefix(folder / _last(prefix), temporary=True)
        for name in self.names:
            if not name.startswith((f"{prefix}.index", f"{prefix}.data-")):
                continue
            path, size = folder / _last(name), self._archive.sizes[name]
            with self._archive.open(name, size) as file, path.open("wb") as unpacked:
                shutil.copyfileobj(file, unpacked)
                if unpacked.tell() < size:
                    raise ValueError("It ends too early.")
        return files


def _last(name):
    return PurePosixPath(name).name
