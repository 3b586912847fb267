"""The bytes of an HDF5 file: a position in them, the superblock, object headers."""

UNDEFINED = 2**64 - 1  # the address of what doesn't exist


class Damaged(ValueError):
    """The bytes are not those of an HDF5 file that this package reads."""


class Cursor:
    def __init__(self, data: memoryview, position: int | None = 0):
        if position is None or not 0 <= position <= len(data):
            raise Damaged("An address lies outside of the file.")
        self.data, self.position = data, position

    @property
    def left(self) -> int:
        return len(self.data) - self.position

    def take(self, size: int) -> memoryview:
        if size > self.left:
            raise Damaged("It ends too early.")
        self.position += size
        return self.data[self.position - size : self.position]

    def uint(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def address(self) -> int | None:
        address = self.uint(8)
        return None if address == UNDEFINED else address

    def expect(self, signature: bytes) -> None:
        if self.take(len(signature)) != signature:
            raise Damaged(
                f"A structure {signature.decode()} is not where it should be."
            )

    def require(self, *allowed: int) -> int:
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


def messages(data: memoryview, address: int | None) -> list[tuple[int, memoryview]]:
    """The messages of the object header at an address: kind, such as `LAYOUT`, and body."""
    cursor = Cursor(data, address)
    is_version_2 = data[cursor.position :][:4] == b"OHDR"
    if is_version_2:
        cursor.take(4)
        cursor.require(2)
        flags = cursor.uint(1)
        cursor.take((16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0))
        size = cursor.uint(1 << (flags & 3))
        widths, rest = (1, 2, 1), 2 if flags & 4 else 0
    else:
        cursor.require(1)
        cursor.take(7)
        size = cursor.uint(4)
        cursor.take(4)
        widths, rest = (2, 2, 1), 3
    prefix = sum(widths) + rest
    found, blocks, n_bytes = [], [cursor.take(size)], 0
    for block in blocks:  # a block may name others that continue it
        n_bytes += len(block) + prefix  # so that empty blocks end, too
        if n_bytes > _MAX_BYTES:
            raise Damaged("It has a header of more than 1 MiB.")
        cursor = Cursor(block)
        while cursor.left >= prefix:
            kind, size, flags = map(cursor.uint, widths)
            cursor.take(rest)
            body = cursor.take(size)
            found.append((kind, body))
            if kind == _CONTINUATION:
                place = Cursor(body)
                more = Cursor(data, place.address()).take(place.uint(8))
                if is_version_2:
                    Cursor(more).expect(b"OCHK")
                    more = more[4:-4]  # without the checksum
                blocks.append(more)
            elif flags & _SHARED:
                raise Damaged("It shares parts of headers, which weights don't need.")
    return found
