"""A position in the bytes of an HDF5 file that can't leave them."""

UNDEFINED = 2**64 - 1  # the address of what doesn't exist


class Damaged(ValueError):
    """The bytes are not those of an HDF5 file that this package reads."""


class Cursor:
    """Reads little-endian fields one after another.

    Args:
        data: the file, from the address 0 on, or a part of it.
        position: where to start.

    Raises:
        Damaged: by every method, if the bytes end too early.
    """

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
        """Reads the signature of a structure.

        Raises:
            Damaged: there is another one.
        """
        if self.take(len(signature)) != signature:
            raise Damaged(
                f"A structure {signature.decode()} is not where it should be."
            )

    def require(self, *allowed: int) -> int:
        """Reads a version byte.

        Raises:
            Damaged: it is not one of `allowed`.
        """
        version = self.uint(1)
        if version not in allowed:
            raise Damaged(f"It has a structure of the unknown version {version}.")
        return version
