"""The superblock of an HDF5 file, and the messages of an object's header."""

from typing import NamedTuple

from elmo_keras.model_files.hdf5_format.cursor import Cursor, Damaged

SIGNATURE = b"\x89HDF\r\n\x1a\n"
# Kinds of messages.
DATASPACE, LINK_INFO, DATATYPE, LINK, EXTERNAL = 1, 2, 3, 6, 7
LAYOUT, FILTERS, ATTRIBUTE, SYMBOL_TABLE = 8, 11, 12, 17
_CONTINUATION = 16
_SHARED = 2  # flag of a message that is stored elsewhere
_MAX_BYTES = 2**20  # of a header: 16 attributes of the largest size


class Message(NamedTuple):
    """A part of an object's header.

    Attributes:
        kind: such as `DATASPACE`.
        body: its bytes.
    """

    kind: int
    body: memoryview


class Start(NamedTuple):
    """What the superblock says.

    Attributes:
        data: the file from the address 0 on, after the user block.
        root: the address of the root group's header.
    """

    data: memoryview
    root: int | None


def superblock(data: memoryview) -> Start:
    """Finds the start of the HDF5 content.

    Raises:
        Damaged: there is none, or it is of a kind that nobody writes.
    """
    base = 0
    while data[base : base + 8] != SIGNATURE:
        base = base * 2 or 512
        if base + 8 > len(data):
            raise Damaged("It has no HDF5 signature.")
    data = data[base:]
    cursor = Cursor(data, 8)
    version = cursor.require(0, 1, 2, 3)
    cursor.position = 13 if version < 2 else 9
    if (cursor.uint(1), cursor.uint(1)) != (8, 8):
        raise Damaged("Its addresses should have 8 bytes.")
    cursor.position = (24, 28, 12, 12)[version]
    if cursor.uint(8) != base:
        raise Damaged("Its base address should be where its signature is.")
    cursor.take(8)
    if cursor.uint(8) > base + len(data):
        raise Damaged("It ends too early.")
    if version < 2:
        if cursor.address() is not None:
            raise Damaged("It is one of several files that belong together.")
        cursor.take(8)
    return Start(data, cursor.address())


def messages(data: memoryview, address: int | None) -> list[Message]:
    """The messages of the object header at an address, empty ones included.

    Raises:
        Damaged: there is no sound header.
    """
    cursor = Cursor(data, address)
    if cursor.data[cursor.position :][:4] == b"OHDR":
        return _Version2(data).read(cursor)
    return _Version1(data).read(cursor)


class _Blocks:
    """The blocks of a header: the first one, and those that continue it."""

    def __init__(self, data):
        self.data, self.found = data, []
        self.places = []  # (address, size) of the blocks to be read
        self.n_bytes = 0

    def read_blocks(self, first):
        self.read_block(first)
        for address, size in self.places:
            self.read_block(self.inside(Cursor(self.data, address).take(size)))
        return self.found

    def read_block(self, block):
        self.n_bytes += len(block) + self.prefix  # so that empty blocks end, too
        if self.n_bytes > _MAX_BYTES:
            raise Damaged("It has a header of more than 1 MiB.")
        cursor = Cursor(block)
        while cursor.left >= self.prefix:
            kind, size, flags = self.next(cursor)
            body = cursor.take(size)
            if kind == _CONTINUATION:
                place = Cursor(body)
                self.places.append((place.address(), place.uint(8)))
            elif flags & _SHARED:
                raise Damaged("It shares parts of headers, which weights don't need.")
            self.found.append(Message(kind, body))


class _Version1(_Blocks):
    prefix = 8

    def read(self, cursor):
        cursor.require(1)
        cursor.take(7)
        size = cursor.uint(4)
        cursor.take(4)
        return self.read_blocks(cursor.take(size))

    def inside(self, block):
        return block

    def next(self, cursor):
        kind, size, flags = cursor.uint(2), cursor.uint(2), cursor.uint(1)
        cursor.take(3)
        return kind, size, flags


class _Version2(_Blocks):
    def read(self, cursor):
        cursor.expect(b"OHDR")
        cursor.require(2)
        flags = cursor.uint(1)
        cursor.take((16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0))
        self.has_order = bool(flags & 4)
        self.prefix = 6 if self.has_order else 4
        return self.read_blocks(cursor.take(cursor.uint(1 << (flags & 3))))

    def inside(self, block):
        Cursor(block).expect(b"OCHK")
        return block[4:-4]  # without the checksum

    def next(self, cursor):
        kind, size, flags = cursor.uint(1), cursor.uint(2), cursor.uint(1)
        cursor.take(2 if self.has_order else 0)
        return kind, size, flags
