"""The links of a group: name → address of an object's header.

Files in the earliest format, h5py's default, keep them in a symbol table; those of HDF5
1.8 and later, the default of HDF5 2, in the header or, if many, in a fractal heap.
"""

from elmo_keras.formats.hdf5_format.structures import (
    LINK,
    LINK_INFO,
    SYMBOL_TABLE,
    Cursor,
    Damaged,
)

_LINK_NAMES = 5  # the type of a B-tree whose records are (hash, heap id) of links
_MAX_DEPTH = 8
_NODE_OVERHEAD = 10  # signature, version, type, checksum
MAX_LINKS, _MAX_CHILDREN = 100_000, 2**20  # of a group, of a tree
_MAX_NAME = 1024
_HARD = 0
_CACHED_SOFT_LINK = 2


def is_group(header: list[tuple[int, memoryview]]) -> bool:
    return any(kind in (SYMBOL_TABLE, LINK_INFO, LINK) for kind, _ in header)


def links(
    data: memoryview, header: list[tuple[int, memoryview]]
) -> dict[str, int | None]:
    found = {}
    for kind, body in header:
        if kind == SYMBOL_TABLE:
            pairs = _symbol_table(data, Cursor(body))
        elif kind == LINK_INFO:
            pairs = (_link(Cursor(link)) for link in _dense_links(data, Cursor(body)))
        elif kind == LINK:
            pairs = [_link(Cursor(body))]
        else:
            continue
        for name, address in pairs:
            if name in found or len(found) == MAX_LINKS:
                raise Damaged(f"It has {name!r} twice, or too many links in a group.")
            found[name] = address
    return found


def _symbol_table(data, cursor):
    """The links of a group as HDF5 1.6 and the default settings of h5py store it."""
    tree, heap = cursor.address(), Cursor(data, cursor.address())
    heap.expect(b"HEAP")
    heap.require(0)
    heap.take(3)
    size = heap.uint(8)
    heap.take(8)
    names = Cursor(data, heap.address()).take(size)
    for node in tree_leaves(data, tree, kind=0, key_size=8):
        yield from _symbols(Cursor(data, node), names)


def tree_leaves(data, address, *, kind, key_size, keys=False):
    """The children of the leaves of a version 1 B-tree; with `keys`, as (key, child)."""
    todo, seen, n_children = [(address, None)], set(), 0
    while todo:
        address, parent_level = todo.pop()
        if address in seen:
            raise Damaged("A tree of it has a loop.")
        seen.add(address)
        cursor = Cursor(data, address)
        cursor.expect(b"TREE")
        cursor.require(kind)
        level, count = cursor.uint(1), cursor.uint(2)
        if parent_level is not None and level != parent_level - 1:
            raise Damaged("A tree of it has a node at the wrong level.")
        cursor.take(16)
        n_children += count
        if n_children > _MAX_CHILDREN:
            raise Damaged("A tree of it has too many nodes.")
        for _ in range(count):
            key, child = cursor.take(key_size), cursor.address()
            if level:
                todo.append((child, level))
            else:
                yield (key, child) if keys else child


def _symbols(cursor, names):
    cursor.expect(b"SNOD")
    cursor.require(1)
    cursor.take(1)
    for _ in range(cursor.uint(2)):
        place, address, cached = cursor.uint(8), cursor.address(), cursor.uint(4)
        cursor.take(20)
        name, end, _ = bytes(names[place:][: _MAX_NAME + 1]).partition(b"\0")
        yield _name(name if end else b"", cached != _CACHED_SOFT_LINK), address


def _link(cursor):
    cursor.require(1)
    flags = cursor.uint(1)
    kind = cursor.uint(1) if flags & 8 else _HARD
    cursor.take((8 if flags & 4 else 0) + (1 if flags & 16 else 0))
    name = bytes(cursor.take(cursor.uint(1 << (flags & 3))))
    return _name(name, kind == _HARD), cursor.address()


def _name(name, is_hard):
    text = name[:_MAX_NAME].decode(errors="replace")
    if not is_hard:
        raise Damaged(
            f"`{text}` is a soft or external link. All data should be in the file "
            "itself."
        )
    if not name or "/" in text or text.encode() != name:
        raise Damaged("The name of a link is damaged.")
    return text


def _dense_links(data: memoryview, cursor: Cursor):
    cursor.require(0)
    flags = cursor.uint(1)
    cursor.take(8 if flags & 1 else 0)
    heap_address, tree_address = cursor.address(), cursor.address()
    if heap_address is None:
        return
    heap = _FractalHeap(data, heap_address)
    for record in _tree_records(data, tree_address):
        yield heap.object(record[4:])


class _FractalHeap:
    """Objects by their ids; blocks of doubling sizes form one address space."""

    def __init__(self, data, address):
        self.data, cursor = data, Cursor(data, address)
        cursor.expect(b"FRHP")
        cursor.require(0)
        cursor.take(2)
        if cursor.uint(2):
            raise Damaged("It has compressed links.")
        cursor.take(1)
        max_object = cursor.uint(4)
        cursor.take(96)
        self.width, self.first = cursor.uint(2), cursor.uint(8)
        max_direct, self.address_bytes = cursor.uint(8), -(-cursor.uint(2) // 8)
        cursor.take(2)
        self.root, self.n_rows = cursor.address(), cursor.uint(2)
        powers = (self.width, self.first, max_direct)
        if not all(n and n & (n - 1) == 0 for n in powers) or max_direct < self.first:
            raise Damaged("A heap of it has wrong sizes.")
        self.direct_rows = (max_direct // self.first).bit_length() + 1
        self.length_bytes = _bytes_for(min(max_direct, max_object))

    def object(self, identity):
        cursor = Cursor(identity)
        if cursor.uint(1) >> 4:
            raise Damaged("It has links of a kind that nobody writes.")
        offset, length = cursor.uint(self.address_bytes), cursor.uint(self.length_bytes)
        address, start = self._block(offset)
        return Cursor(self.data, address + offset - start).take(length)

    def _block(self, offset):
        """The address of the direct block at an offset, and its own offset."""
        address, start, n_rows = self.root, 0, self.n_rows
        for _ in range(_MAX_DEPTH):
            if address is None:
                break
            if n_rows == 0:
                return address, start
            row, column, begin = self._place(offset - start)
            if row >= n_rows:
                break
            head = 13 + self.address_bytes  # signature, version, heap, offset
            child = address + head + 8 * (row * self.width + column)
            Cursor(self.data, address).expect(b"FHIB")
            address, start = Cursor(self.data, child).address(), start + begin
            # The rows of an indirect block that lies in this row; a direct one has none.
            rows = max(0, row - self.width.bit_length()) + 1
            n_rows = rows if row >= self.direct_rows else 0
        raise Damaged("A heap of it has no object where a link should be.")

    def _place(self, offset):
        row = (offset // (self.first * self.width)).bit_length()
        size = self.first << max(0, row - 1)
        begin = size * self.width if row else 0
        column = (offset - begin) // size
        return row, column, begin + column * size


def _tree_records(data, address):
    cursor = Cursor(data, address)
    cursor.expect(b"BTHD")
    cursor.require(0)
    cursor.require(_LINK_NAMES)
    node_size, record_size, depth = cursor.uint(4), cursor.uint(2), cursor.uint(2)
    cursor.take(2)
    todo, seen = [(cursor.address(), cursor.uint(2), 0)], set()
    if depth > _MAX_DEPTH or not 4 < record_size < node_size:
        raise Damaged("A tree of it has wrong sizes.")
    pointers = _pointer_sizes(node_size, record_size, depth)
    while todo:
        address, count, level = todo.pop()
        if address in seen:
            raise Damaged("A tree of it has a loop.")
        seen.add(address)
        cursor = Cursor(data, address)
        cursor.expect(b"BTLF" if level == depth else b"BTIN")
        cursor.require(0)
        cursor.require(_LINK_NAMES)
        for _ in range(count):
            yield cursor.take(record_size)
        for _ in range(count + 1 if level < depth else 0):
            count_bytes, total_bytes = pointers[level]
            todo.append((cursor.address(), cursor.uint(count_bytes), level + 1))
            cursor.take(total_bytes)


def _pointer_sizes(node_size, record_size, depth):
    """Per level from the root: bytes of a child's number of records, and of all below."""
    most = (node_size - _NODE_OVERHEAD) // record_size
    count_bytes, total, total_bytes, sizes = _bytes_for(most), most, 0, []
    for _ in range(depth):
        sizes.append((count_bytes, total_bytes))
        pointer = 8 + count_bytes + total_bytes
        most = (node_size - _NODE_OVERHEAD - pointer) // (record_size + pointer)
        total = (most + 1) * total + most
        total_bytes = _bytes_for(total)
    return sizes[::-1]


def _bytes_for(limit):
    """The number of bytes that hold numbers up to a limit."""
    return max(0, max(1, limit).bit_length() - 1) // 8 + 1
