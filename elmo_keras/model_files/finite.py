"""Arrays of weights, checked to hold numbers only."""

import numpy as np

_VALUES_AT_ONCE = 2**24  # what is checked together; a softmax has 4e8 values


def finite(name: str, array: np.ndarray) -> np.ndarray:
    """An array as float32, not copied if it is float32 already.

    Args:
        name: the name of the weights in error messages.
        array: read from a file.

    Raises:
        ValueError: it holds NaN, infinity, a number too large for float32, or no
            numbers at all.
    """
    if array.dtype.kind not in "fiu":
        raise ValueError(f"`{name}` should hold numbers. Found: {array.dtype}")
    with np.errstate(over="ignore"):
        array = np.asarray(array, np.float32)
    if not all(np.isfinite(part).all() for part in _parts(array)):
        _refuse(name, array)
    return array


def _parts(array):
    """The values in pieces, so that checking takes little memory."""
    values = array.reshape(-1)
    for start in range(0, len(values), _VALUES_AT_ONCE):
        yield values[start : start + _VALUES_AT_ONCE]


def _refuse(name, array):
    is_finite = np.isfinite(array)
    place = np.unravel_index(np.argmin(is_finite), array.shape)
    raise ValueError(
        f"`{name}` should hold finite numbers. Found: {array[place]} at "
        f"{[int(i) for i in place]}, and {np.sum(~is_finite) - 1:,} more. Get the "
        "file again, or use weights from before the training diverged."
    )
