"""Joins the requests of several clients into a batch, and splits its outputs."""

from collections.abc import Sequence

import numpy as np

from elmo_keras.serve.signature import LENGTHS, Arrays, Signature


def width(inputs: Arrays) -> int:
    texts = [array for array in inputs.values() if array.dtype == object]
    return max((array.shape[1] for array in texts if array.ndim > 1), default=0)


def is_joinable(inputs: Arrays) -> bool:
    """Whether wider padding leaves the answer to a request unchanged."""
    # A length beyond its own columns must be refused also beside wider neighbours.
    lengths = inputs.get(LENGTHS, np.zeros([0]))
    return bool(np.all((lengths >= 0) & (lengths <= width(inputs))))


def join(requests: Sequence[Arrays]) -> Arrays:
    return {key: _joined([inputs[key] for inputs in requests]) for key in requests[0]}


def _joined(arrays):
    if arrays[0].ndim < 2:
        return np.concatenate(arrays)
    widest = max(array.shape[1] for array in arrays)
    joined = np.full((sum(map(len, arrays)), widest), b"", object)
    begin = 0
    for array in arrays:
        joined[begin : begin + len(array), : array.shape[1]] = array
        begin += len(array)
    return joined


def outputs_to_fetch(keys: tuple[str, ...], signature: Signature) -> tuple[str, ...]:
    """The requested outputs, and the lengths if splitting the batch needs them."""
    has_time = any(signature.time_axis(key) is not None for key in keys)
    if LENGTHS in signature.inputs or LENGTHS not in signature.outputs or not has_time:
        return keys
    return tuple(sorted({*keys, LENGTHS}))


def split(
    outputs: Arrays,
    keys: tuple[str, ...],
    signature: Signature,
    *,
    requests: Sequence[Arrays],
) -> list[Arrays]:
    answers, begin = [], 0
    for inputs in requests:
        end = begin + len(next(iter(inputs.values())))
        rows = {key: array[begin:end] for key, array in outputs.items()}
        time = int(rows[LENGTHS].max(initial=0)) if LENGTHS in rows else None
        if LENGTHS in signature.inputs:
            time = width(inputs)
        answers.append({key: rows[key] for key in keys})
        for key in keys:
            if axis := signature.time_axis(key):
                answers[-1][key] = rows[key][(slice(None),) * axis + (slice(time),)]
        begin = end
    return answers
