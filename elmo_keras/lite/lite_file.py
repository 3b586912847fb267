"""A model in one `.tflite` file: a flatbuffer, and the other parts as a ZIP after it.

The flatbuffer is the forward LSTM. Readers of flatbuffers ignore bytes after its end, and
readers of ZIP files begin at the end of a file: TensorFlow Lite's own metadata adds files
to a model in this way. No part is compressed, and each begins at a multiple of 64 bytes,
so that LiteRT uses them where the file is mapped into memory.
"""

import contextlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from elmo_keras.base.files import naming_damage, replacing
from elmo_keras.hub.local_files import not_a_pipe
from elmo_keras.lite.runtime import ALIGNMENT, aligned

ARITHMETICS = "int8", "float32"
MIN_COSINE = 0.95  # mean similarity of int8 and exact vectors in the worst layer
VERSION = 1
_METADATA = "elmo.json"
_HEADER_SIZE = 30  # bytes of an entry of a ZIP, before its name


class LiteFile(NamedTuple):
    """The parts of a `.tflite` file of ours."""

    metadata: Mapping[str, Any]  # JSON values: `config`, `arithmetic`, `mix` and so on
    graphs: Mapping[str, np.ndarray]  # uint8: `forward`, `backward` and `tokens`
    arrays: Mapping[str, np.ndarray]  # `characters` and `words`


def write_lite(path: Path, file: LiteFile) -> None:
    forward = file.graphs["forward"]
    metadata = dict(file.metadata) | {
        "version": VERSION,
        "forward": {"bytes": len(forward), "crc32": zlib.crc32(forward.data)},
    }
    parts: dict[str, Any] = {_METADATA: json.dumps(metadata).encode()}
    parts |= {f"{k}.tflite": v for k, v in file.graphs.items() if k != "forward"}
    parts |= {f"{k}.npy": _npy(v) for k, v in file.arrays.items()}
    with replacing(path) as new, open(new, "wb") as stream:
        stream.write(forward.data)
        with zipfile.ZipFile(stream, "a") as archive:
            for name, part in parts.items():
                entry = zipfile.ZipInfo(name)  # its date is 1980, so that bytes repeat
                start = stream.tell() + _HEADER_SIZE + len(name)
                # An extra field of zeros moves the part to an aligned place.
                entry.extra = _padding(-start % ALIGNMENT)
                archive.writestr(entry, memoryview(part))


def read_lite(path: Path, *, mapped: bool = True) -> LiteFile:
    """Maps a file into memory, or reads it; refused if damaged or of another version."""
    not_a_pipe(path)
    with whole(path):
        data: np.ndarray = np.memmap(path, np.uint8, "r")
        if not mapped:
            mapping, data = data, aligned(data.size, dtype=np.uint8)
            data[:] = mapping
        with zipfile.ZipFile(path) as archive:
            parts = {i.filename: _part(data, archive, i) for i in archive.infolist()}
        metadata = json.loads(bytes(parts.pop(_METADATA)))
        version, forward = metadata["version"], metadata["forward"]
        first = data[: forward["bytes"]]
        is_whole = zlib.crc32(first.data) == forward["crc32"]
    if version != VERSION:
        raise ValueError(
            f"{path} has version {version} of the format; this elmo-keras reads version "
            f"{VERSION}. Write it again: elmo-keras export MODEL FILE.tflite --format "
            "litert"
        )
    if not is_whole:
        raise ValueError(f"{path} is damaged: its checksum is another. Copy it again.")
    graphs = {k[:-7]: v for k, v in parts.items() if k.endswith(".tflite")}
    with whole(path):
        array_parts = {k[:-4]: v for k, v in parts.items() if k.endswith(".npy")}
        read = np.lib.format.read_array
        arrays = {k: read(io.BytesIO(v.data)) for k, v in array_parts.items()}
    return LiteFile(metadata, graphs | {"forward": first}, arrays)


def whole(path: Path) -> contextlib.AbstractContextManager[None]:
    """Turns errors by damaged parts of a file into a ValueError that names it."""
    return naming_damage(
        f"{path} is not a whole `.tflite` file of elmo-keras. Write it again: "
        "elmo-keras export MODEL FILE.tflite --format litert."
    )


def _part(data, archive, entry):
    """The bytes of an entry in the file itself, whose checksum is compared."""
    header = data[entry.header_offset :][:_HEADER_SIZE]
    lengths = header[26:30].view("<u2")
    start = entry.header_offset + _HEADER_SIZE + int(lengths.sum())
    part = data[start : start + entry.file_size]
    stored = entry.compress_type == zipfile.ZIP_STORED
    if not stored or zlib.crc32(part) != entry.CRC:
        raise zipfile.BadZipFile(f"{entry.filename} is damaged")
    return part


def _npy(array):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
    return stream.getvalue()


def _padding(count):
    """An extra field for alignment with this number of bytes, or 64 more."""
    count += ALIGNMENT if count < 4 else 0
    return b"\x35\xd9" + (count - 4).to_bytes(2, "little") + bytes(count - 4)
