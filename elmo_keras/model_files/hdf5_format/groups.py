"""The links of a group: name → address of an object's header."""

from elmo_keras.model_files.hdf5_format.cursor import Cursor, Damaged
from elmo_keras.model_files.hdf5_format.dense_links import dense_links
from elmo_keras.model_files.hdf5_format.headers import (
    LINK,
    LINK_INFO,
    SYMBOL_TABLE,
    Message,
)

MAX_LINKS, _MAX_CHILDREN = 100_000, 2**20  # of a group, of a tree
_MAX_NAME = 1024
_HARD = 0
_CACHED_SOFT_LINK = 2


def is_group(header: list[Message]) -> bool:
    """Whether a header is that of a group."""
    return any(m.kind in (SYMBOL_TABLE, LINK_INFO, LINK) for m in header)


def links(data: memoryview, header: list[Message]) -> dict[str, int | None]:
    """Name → address of the header, for each object of a group.

    Raises:
        Damaged: the group is damaged, or holds a link to somewhere else.
    """
    found = {}
    for kind, body in header:
        if kind == SYMBOL_TABLE:
            pairs = _symbol_table(data, Cursor(body))
        elif kind == LINK_INFO:
            pairs = (_link(Cursor(link)) for link in dense_links(data, Cursor(body)))
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
    """The children of the leaves of a version 1 B-tree; with `keys`, as (key, child).

    Raises:
        Damaged: the tree is damaged or has a loop.
    """
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
        if not end:
            raise Damaged("The name of a link is damaged.")
        if cached == _CACHED_SOFT_LINK:
            raise _elsewhere(name)
        yield _decoded(name), address


def _link(cursor):
    cursor.require(1)
    flags = cursor.uint(1)
    kind = cursor.uint(1) if flags & 8 else _HARD
    cursor.take((8 if flags & 4 else 0) + (1 if flags & 16 else 0))
    size = cursor.uint(1 << (flags & 3))
    name = bytes(cursor.take(size))
    if kind != _HARD:
        raise _elsewhere(name)
    if size > _MAX_NAME:
        raise Damaged("The name of a link is damaged.")
    return _decoded(name), cursor.address()


def _elsewhere(name):
    name = name[:_MAX_NAME].decode(errors="replace")
    return Damaged(
        f"`{name}` is a soft or external link. All data should be in the file itself."
    )


def _decoded(name):
    try:
        text = name.decode()
    except UnicodeDecodeError:
        text = ""
    if not text or "/" in text:
        raise Damaged("The name of a link is damaged.")
    return text
