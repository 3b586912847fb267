"""Arrays of sentences as the parts of a job."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from elmo_keras.jobs.parts import Parts

MAX_TEXT_BYTES = 2**28  # of all sentences in `sentence_to_index`


def write_arrays(
    parts: Parts, index: int, arrays: Sequence[np.ndarray], metadata: dict[str, Any]
) -> None:
    """Writes the values of all sentences as a part, whose metadata have their `lengths`."""
    parts.write(index, (np.ascontiguousarray(array).data for array in arrays), metadata)


def read_arrays(
    parts: Parts, shape: Sequence[int | None], dtype: str
) -> Iterator[tuple[dict[str, Any], list[np.ndarray]]]:
    """Yields the metadata of each part, and its arrays; None in `shape` is a length."""
    for metadata, content in parts.read():
        values = np.frombuffer(content, dtype)
        shapes = [[n if d is None else d for d in shape] for n in metadata["lengths"]]
        ends = list(itertools.accumulate(map(math.prod, shapes)))
        arrays = zip(shapes, [0, *ends], ends)
        yield metadata, [values[start:end].reshape(one) for one, start, end in arrays]


def sentence_to_index(parts: Parts) -> dict[str, str] | None:
    """The last index of each text; None for too much text."""
    last, left = {}, MAX_TEXT_BYTES
    for metadata, _ in parts.read(check=False):
        for text, index in zip(metadata["texts"], metadata["sentences"]):
            left -= 0 if text in last else len(text.encode())
            if left < 0:
                return None
            last[text] = max(index, last.get(text, 0))
    ordered = sorted(last.items(), key=lambda item: item[1])
    return {text: str(index) for text, index in ordered}
