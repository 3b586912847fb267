"""A file that changes only at a commit, whatever happens in between."""

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

PAGE = 4096
DATA, JOURNAL = "data", "journal"


class JournaledFile(io.RawIOBase):
    """A binary file in a folder of its own that changes only at a commit.

    Writes are held in memory until `commit`. After a kill, a full disk or a power cut
    the file has the state of the last commit. A library that writes to Python
    files, such as h5py, therefore can't leave a damaged file, and never sees a write
    fail.

    The folder holds two files, `data` and `journal`. A commit first appends to
    `data` everything past the committed size, which no reader looks at yet. Then it
    replaces `journal`, which holds its SHA-256, the new size, the new content of the
    changed pages within the old size, and a note: this is the moment of the commit. Then the
    pages are copied into `data`; after a crash that is done when the file is opened
    again.

    Args:
        folder: an existing folder. The file has the state of the last commit in it,
            or is empty if there was none.

    Attributes:
        note: the note of the last commit, or None if there was none.

    Memory: as much as was written since the last commit.

    Raises:
        ValueError: the journal is damaged. No file has been changed.
    """

    def __init__(self, folder: Path):
        super().__init__()
        self.path, self._journal = folder / DATA, folder / JOURNAL
        self.note: Any = None
        self._position = 0
        self._pages: dict[int, bytearray] = {}  # changed pages of the committed part
        self._tail = bytearray()  # everything after the committed part
        if not self.path.exists():
            self._journal.unlink(missing_ok=True)  # of a file that was moved away
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            self._committed = self._size = self._recovered()
        except BaseException:
            self.close()
            raise

    def _recovered(self):
        """Completes the last commit; returns the size."""
        try:
            content = self._journal.read_bytes()
        except FileNotFoundError:
            content = _journal_of({"size": 0, "pages": [], "note": None}, [])
        try:
            about, pages = _parsed(content, os.fstat(self._fd).st_size)
        except (KeyError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(
                f"{self._journal} is damaged. {error} Delete the folder "
                f"{self._journal.parent} and start again."
            ) from error
        for start, page in pages.items():
            _write(self._fd, page, start)
        os.ftruncate(self._fd, about["size"])
        self.note = about["note"]
        return about["size"]

    def commit(self, note: Any) -> None:
        """Makes everything written so far permanent.

        Args:
            note: anything that JSON can hold, kept with this state.

        Raises:
            OSError: the disk is full or fails. The state of the last commit stays;
                this object can't be used any more.
        """
        _write(self._fd, self._tail, self._committed)
        if os.fstat(self._fd).st_size < self._size:
            os.ftruncate(self._fd, self._size)
        os.fsync(self._fd)
        pages = {n * PAGE: self._pages[n] for n in sorted(self._pages)}
        self._replace_journal(pages, note)
        for start, content in pages.items():
            _write(self._fd, content, start)
        os.ftruncate(self._fd, self._size)
        os.fsync(self._fd)  # before the next commit replaces this journal
        self.note, self._committed = note, self._size
        self._pages.clear()
        self._tail = bytearray()

    def _replace_journal(self, pages, note):
        sizes = [(start, len(content)) for start, content in pages.items()]
        about = {"size": self._size, "pages": sizes, "note": note}
        new = self._journal.with_suffix(".new")
        with new.open("wb") as file:
            file.write(_journal_of(about, pages.values()))
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self._journal)
        synchronize_folder(self._journal.parent)

    def write(self, data) -> int:
        data = memoryview(data).cast("B")
        start, end = self._position, self._position + len(data)
        inside = max(0, min(end, self._committed) - start)
        self._write_inside(start, data[:inside])
        place = max(start - self._committed, 0)
        if inside < len(data):
            self._lengthen(place)
            self._tail[place : place + len(data) - inside] = data[inside:]
        self._position = end
        self._size = max(self._size, end)
        return len(data)

    def _write_inside(self, start, data):
        while len(data):
            number, place = divmod(start, PAGE)
            part = data[: PAGE - place]
            page = self._page(number)
            page[place : place + len(part)] = part
            start, data = start + len(part), data[len(part) :]

    def _page(self, number):
        """The content of a page, which the caller may change."""
        if number not in self._pages:
            length = min(PAGE, self._committed - number * PAGE)
            self._pages[number] = bytearray(os.pread(self._fd, length, number * PAGE))
        return self._pages[number]

    def _lengthen(self, length):
        self._tail.extend(bytes(max(0, length - len(self._tail))))

    def readinto(self, buffer) -> int:
        buffer = memoryview(buffer).cast("B")
        start = self._position
        length = max(0, min(len(buffer), self._size - start))
        inside = max(0, min(start + length, self._committed) - start)
        self._read_inside(start, buffer[:inside])
        place = max(start - self._committed, 0)
        self._lengthen(place + length - inside)
        buffer[inside:length] = self._tail[place : place + length - inside]
        self._position += length
        return length

    def _read_inside(self, start, buffer):
        buffer[:] = os.pread(self._fd, len(buffer), start)
        for number in range(start // PAGE, -(-(start + len(buffer)) // PAGE)):
            if number in self._pages:
                page, first = self._pages[number], number * PAGE - start
                page = page[max(0, -first) :][: len(buffer) - max(0, first)]
                buffer[max(0, first) : max(0, first) + len(page)] = page

    def truncate(self, size: int | None = None) -> int:
        size = self._position if size is None else size
        if size < self._committed:  # if the file grows again, these bytes are 0
            self._write_inside(size, memoryview(bytes(self._committed - size)))
        del self._tail[max(0, size - self._committed) :]
        self._size = size
        return size

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        starts = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}
        self._position = starts[whence] + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        """Closes the file; everything since the last commit is lost."""
        if not self.closed:
            os.close(self._fd)
        super().close()


def _journal_of(about, pages):
    """The content of a journal: a digest of the rest, a line of JSON, the pages."""
    content = b"".join([json.dumps(about).encode(), b"\n", *pages])
    return hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def _parsed(content, data_size):
    """What a journal says, and its pages by their places in a file of `data_size`."""
    is_old = content.startswith(b"{")  # elmo-keras 0.2.0 wrote no digest
    digest, _, rest = (b"", b"", content) if is_old else content.partition(b"\n")
    if not is_old and digest != hashlib.sha256(rest).hexdigest().encode():
        raise ValueError("Its content is not what was written.")
    line, _, rest = rest.partition(b"\n")
    about = json.loads(line)
    if about["size"] < 0 or (about["size"] > data_size and not is_old):
        raise ValueError(f"{DATA} beside it was cut to {data_size:,} bytes.")
    pages, file = {}, io.BytesIO(rest)
    for start, length in about["pages"]:
        pages[start] = file.read(length)
        if len(pages[start]) < length:
            raise ValueError("It ends too early.")
    return about, pages


def synchronize_folder(folder: Path) -> None:
    """Makes the names of the files in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(descriptor, data, start):
    data = memoryview(data)
    while len(data):
        written = os.pwrite(descriptor, data, start)
        start, data = start + written, data[written:]
