"""The parts of a file of vectors: a batch of `tokens_at_once` tokens each.

Parts share the vectors of words, which a run computes once and a run that resumes once
more. If each part of 8,192 tokens of Wikipedia computed its own, that would take 5 % of
the time.
"""

import itertools
import json
import math
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_keras.embed.parts import Parts

MAX_TEXT_BYTES = 2**28  # of all sentences in `sentence_to_index`


def write_part(
    parts: Parts, index: int, vectors: Sequence[np.ndarray], metadata: dict[str, Any]
) -> None:
    """Writes a `.npy` of all values, sentence after sentence, and the metadata after it."""
    values = np.concatenate([np.ravel(array) for array in vectors])
    header = np.lib.format.header_data_from_array_1_0(values)
    with parts.writing(index) as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.write(values.data)
        file.write(json.dumps(metadata | {"crc32": zlib.crc32(values.data)}).encode())


def read_metadata(path: Path) -> dict[str, Any] | None:
    try:
        return {"digest": None} | _read(path)[0]
    except Exception:  # reading a damaged header, numpy also raises tokenize's errors
        return None


def read_parts(
    paths: Sequence[Path], shape: tuple[int | None, ...]
) -> Iterator[tuple[dict[str, Any], list[np.ndarray]]]:
    for path in paths:
        metadata, values = _read(path)
        shapes = [[n if d is None else d for d in shape] for n in metadata["lengths"]]
        ends = list(itertools.accumulate(map(math.prod, shapes)))
        arrays = zip(shapes, [0, *ends], ends)
        yield metadata, [values[start:end].reshape(one) for one, start, end in arrays]


def _read(path, *, whole=True):
    """The metadata of a part, and its values, which are compared with their checksum."""
    values = np.load(path, mmap_mode="r")
    with path.open("rb") as file:
        file.seek(values.offset + values.nbytes)
        metadata = json.loads(file.read())
    if whole and zlib.crc32(values.data) != metadata["crc32"]:
        raise ValueError(
            f"{path} was damaged after it was written. The same command computes it "
            "again."
        )
    return metadata, np.asarray(values)


def sentence_to_index(paths: Sequence[Path]) -> dict[str, str] | None:
    """The last index of each text; None for too much text."""
    last, left = {}, MAX_TEXT_BYTES
    for path in paths:
        metadata, _ = _read(path, whole=False)
        for text, index in zip(metadata["texts"], metadata["sentences"]):
            left -= 0 if text in last else len(text.encode())
            if left < 0:
                return None
            last[text] = max(index, last.get(text, 0))
    ordered = sorted(last.items(), key=lambda item: item[1])
    return {text: str(index) for text, index in ordered}
