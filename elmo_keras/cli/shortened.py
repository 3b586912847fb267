"""Values in error messages, of a length that can be read."""

import reprlib

_REPR = reprlib.Repr()
_REPR.maxlevel = 4
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = _REPR.maxset = 50
_REPR.maxstring = _REPR.maxother = 200
MAX_LENGTH = 2000


def shortened(value: object) -> str:
    """`repr(value)`, without most of it where it is very long or deep.

    Example:

    >>> shortened({"dim": [1, 2]})
    "{'dim': [1, 2]}"
    """
    text = _REPR.repr(value)
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}…"
