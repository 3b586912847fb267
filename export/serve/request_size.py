"""The size of a request and of its answer, from shapes, before anything is computed."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..sentences import WORDS
from .config import MEGABYTE, Config
from .errors import invalid
from .joining import LENGTHS
from .signature import Arrays, Signature

STRING_BYTES = 24  # of a string without its content

# How a byte of text takes part in a token.
_SEPARATES, _JOINS, _ALONE, _CONTINUES = range(4)


class RequestSize(NamedTuple):
    """The size of a request; for text, tokens are an upper bound."""

    rows: int
    tokens: int
    time: int


def checked_size(inputs: Arrays, tokenizer: str, config: Config) -> RequestSize:
    """The size of a request."""
    rows = len(next(iter(inputs.values())))
    _check("max-request-rows", "sentences", config.max_request_rows, rows)
    tokens = time = 0
    for strings in (array for array in inputs.values() if array.dtype == object):
        if strings.ndim == 1:
            counts = token_counts(strings, tokenizer)
            tokens, longest = tokens + int(counts.sum()), int(counts.max(initial=0))
        else:
            longest, lengths = strings.shape[1], inputs.get(LENGTHS)
            real = lengths.clip(0, longest).sum() if lengths is not None else None
            tokens += int(strings.size if real is None else real)
        time = max(time, longest)
    _check("max-request-tokens", "tokens", config.max_request_tokens, tokens)
    return RequestSize(rows, tokens, time)


def check_answer(
    size: RequestSize, signature: Signature, keys: Sequence[str], config: Config
) -> None:
    """Refuses a request for outputs that are too large together."""
    total = 0
    for spec in (signature.outputs[key] for key in keys):
        if spec.shape.rank:  # axes of unknown size count tokens
            axes = [size.time if n is None else n for n in spec.shape[1:]]
            total += (spec.dtype.size or STRING_BYTES) * math.prod([size.rows, *axes])
    found = math.ceil(total / MEGABYTE)
    _check("max-answer-mb", "MB in its answer", config.max_answer_mb, found)


def token_counts(texts: Sequence[bytes], tokenizer: str) -> np.ndarray:
    """An upper bound of the number of tokens of each text.

    It is exact but for `"unicode_script"` and `"words"`, where each character counts
    that is not an ASCII letter.
    """
    if not len(texts):
        return np.zeros([0], np.int64)
    ends = np.cumsum([len(text) + 1 for text in texts])
    text = np.frombuffer(b" ".join([*texts, b""]), np.uint8)
    kinds = _kinds(tokenizer)[text]
    starts = kinds == _ALONE
    joins = kinds == _JOINS
    starts[0] |= joins[0]
    starts[1:] |= joins[1:] & ~joins[:-1]
    return np.add.reduceat(starts, [0, *ends[:-1]], dtype=np.int64)


def _kinds(tokenizer):
    """The kind of each byte."""
    joining = _ALONE if tokenizer in ("unicode_script", WORDS) else _JOINS
    kinds = np.full(256, joining, np.uint8)
    if joining == _ALONE:
        letters = [byte for byte in range(128) if chr(byte).isalpha()]
        kinds[letters] = _JOINS
        kinds[0x80:0xC0] = _CONTINUES
    separators = b" " if tokenizer == "spaces" else b" \t\n\v\f\r"
    kinds[list(separators)] = _SEPARATES
    return kinds


def _check(option, what, maximum, found):
    if found > maximum:
        raise invalid(
            f"A request may have at most {maximum:,} {what} (--{option}). This one has "
            f"{found:,}. Send it in parts."
        )
