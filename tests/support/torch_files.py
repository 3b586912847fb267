"""Files as PyTorch's `torch.save` writes them, written without PyTorch."""

import io
import pickle
import zipfile

import numpy as np

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
REBUILD = b"ctorch._utils\n_rebuild_tensor_v2\n"
EMPTY = b"ccollections\nOrderedDict\n)R"


class Raw(bytes):
    """Opcodes of a pickle that stand for themselves."""


def opcodes(value):
    """The opcodes that put a value on the stack."""
    if isinstance(value, Raw):
        return bytes(value)
    return pickle.dumps(value, 2)[2:-1]


def called(function, *arguments):
    return Raw(function + b"(" + b"".join(map(opcodes, arguments)) + b"tR")


def storage(key, count, kind="FloatStorage", *view):
    kind = Raw(f"ctorch\n{kind}\n".encode())
    parts = "storage", kind, key, "cpu", count, *view
    return Raw(b"(" + b"".join(map(opcodes, parts)) + b"tQ")


def tensor(where, shape, strides=None, offset=0):
    if strides is None:
        strides = tuple(int(np.prod(shape[i + 1 :])) for i in range(len(shape)))
    return called(REBUILD, where, offset, tuple(shape), strides, False, Raw(EMPTY))


def pickled(items):
    """A pickle of an OrderedDict of these values, or of a single value."""
    if isinstance(items, dict):
        pairs = (opcodes(key) + opcodes(value) for key, value in items.items())
        items = Raw(EMPTY + b"(" + b"".join(pairs) + b"u")
    return b"\x80\x02" + opcodes(items) + b"."


def as_zip(items, storages):
    """The file of today's `torch.save`: values and the bytes of their storages."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickled(items))
        archive.writestr("archive/byteorder", "little")
        for key, content in storages.items():
            archive.writestr(f"archive/data/{key}", content)
        archive.writestr("archive/version", "3\n")
    return file.getvalue()


def in_a_row(items, storages, itemsize=4):
    system = {"protocol_version": PROTOCOL, "little_endian": True}
    parts = [pickle.dumps(part, 2) for part in (MAGIC, PROTOCOL, system)]
    parts += [pickled(items), pickle.dumps(list(storages), 2)]
    for content in storages.values():
        parts += [(len(content) // itemsize).to_bytes(8, "little"), content]
    return b"".join(parts)


def saved(tensors, legacy=False):
    """The file of a state dictionary of float32 arrays."""
    items, storages = {}, {}
    view = [None] if legacy else []
    for key, (name, array) in enumerate(tensors.items()):
        array = np.asarray(array, np.float32)
        where = storage(str(key), array.size, "FloatStorage", *view)
        items[name] = tensor(where, array.shape)
        storages[str(key)] = array.tobytes()
    return (in_a_row if legacy else as_zip)(items, storages)
