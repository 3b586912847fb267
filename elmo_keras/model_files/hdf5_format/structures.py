"""The bytes of an HDF5 file: a position in them, the superblock, object headers."""

from typing import NamedTuple

UNDEFINED = 2**64 - 1  # the address of what doesn't exist


class Damaged(ValueError):
    """The bytes are not those of an HDF5 file that this package reads."""


class Cursor:
    """Reads little-endian fields one after another."""

    def __init__(self, data: memoryview, position: int | None = 0):
        if position is None or not 0 <= position <= len(data):
            raise Damaged("An address lies outside of the file.")
        self.data, self.position = data, position

    @property
    def left(self) -> int:
        """The number of bytes that follow."""
        return len(self.data) - self.position

    def take(self, size: int) -> memoryview:
        """The next bytes, not copied."""
        if size > self.left:
            raise Damaged("It ends too early.")
        self.position += size
        return self.data[self.position - size : self.position]

    def uint(self, size: int) -> int:
        """The next unsigned integer of `size` bytes."""
        return int.from_bytes(self.take(size), "little")

    def address(self) -> int | None:
        """The next address, None for "undefined"."""
        address = self.uint(8)
        return None if address == UNDEFINED else address

    def expect(self, signature: bytes) -> None:
        """Reads the signature of a structure."""
        if self.take(len(signature)) != signature:
            raise Damaged(
                f"A structure {signature.decode()} is not where it should be."
            )

    def require(self, *allowed: int) -> int:
        """Reads a version byte."""
        version = self.uint(1)
        if version not in allowed:
            raise Damaged(f"It has a structure of the unknown version {version}.")
        return version


SIGNATURE = b"\x89HDF\r\n\x1a\n"
# Kinds of messages.
DATASPACE, LINK_INFO, DATATYPE, LINK, EXTERNAL = 1, 2, 3, 6, 7
LAYOUT, FILTERS, ATTRIBUTE, SYMBOL_TABLE = 8, 11, 12, 17
_CONTINUATION = 16
_SHARED = 2  # flag of a message that is stored elsewhere
_MAX_BYTES = 2**20  # of a header: 16 attributes of the largest size


class Message(NamedTuple):
    """A part of an object's header: its kind, such as `DATASPACE`, and its bytes."""

    kind: int
    body: memoryview


def superblock(data: memoryview) -> tuple[memoryview, int | None]:
    """The content after the user block, and the address of the root group's header."""
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
    return data, cursor.address()


def messages(data: memoryview, address: int | None) -> list[Message]:
    """The messages of the object header at an address, empty ones included."""
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
