"""The size of a request and of its answer, from shapes, before anything is computed."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .request_error import invalid
from .signature import Signature

MEGABYTE = 2**20
LENGTHS = "sequence_len"

# How a byte of text takes part in a token.
_SEPARATES, _JOINS, _ALONE, _CONTINUES = range(4)


@dataclasses.dataclass(frozen=True)
class SizeLimits:
    """Bounds of a request, so that none takes all memory.

    Args:
        max_request_rows: maximum number of sentences.
        max_request_tokens: maximum number of tokens of all its sentences.
        max_answer_mb: maximum size of the requested outputs, in MB.
    """

    max_request_rows: int = 4096
    max_request_tokens: int = 65_536
    max_answer_mb: int = 512


class RequestSize(NamedTuple):
    """The size of a request; for text, tokens are an upper bound.

    Attributes:
        rows: number of sentences.
        tokens: number of tokens of all sentences.
        time: number of positions of the longest sentence, padding included.
    """

    rows: int
    tokens: int
    time: int


def checked_size(
    inputs: Mapping[str, np.ndarray], tokenizer: str, limits: SizeLimits
) -> RequestSize:
    """The size of a request.

    Args:
        inputs: key → array.
        tokenizer: name of the tokenizer of sentences, see `export.sentences`.
        limits: the bounds of rows and tokens.

    Raises:
        RequestError: the request has more rows or tokens than the limits allow.
    """
    rows = len(next(iter(inputs.values())))
    _check("max-request-rows", "sentences", maximum=limits.max_request_rows, found=rows)
    strings = next(array for array in inputs.values() if array.dtype == object)
    if strings.ndim > 1:
        lengths, time = inputs.get(LENGTHS), strings.shape[1]
        real = rows * time if lengths is None else lengths.clip(0, time).sum()
        size = RequestSize(rows, int(real), time)
    else:
        counts = token_counts(strings, tokenizer)
        size = RequestSize(rows, int(counts.sum()), int(counts.max(initial=0)))
    maximum = limits.max_request_tokens
    _check("max-request-tokens", "tokens", maximum=maximum, found=size.tokens)
    return size


def check_answer(
    size: RequestSize, signature: Signature, keys: Sequence[str], *, limits: SizeLimits
) -> None:
    """Refuses a request for outputs that are too large together.

    Raises:
        RequestError: they are; the message says how large.
    """
    specs = [signature.outputs[key] for key in keys]
    total = sum(
        spec.dtype.size * math.prod([size.rows, *_filled(spec.shape[1:], size.time)])
        for spec in specs
        if spec.shape.rank and spec.dtype.size
    )
    megabytes = math.ceil(total / MEGABYTE)
    maximum = limits.max_answer_mb
    _check("max-answer-mb", "MB in its answer", maximum=maximum, found=megabytes)


def token_counts(texts: Sequence[bytes], tokenizer: str) -> np.ndarray:
    """An upper bound of the number of tokens of each text.

    It is exact but for `"unicode_script"`, where each character counts that is not an
    ASCII letter.
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
    joining = _JOINS if tokenizer != "unicode_script" else _ALONE
    kinds = np.full(256, joining, np.uint8)
    if joining == _ALONE:
        letters = [byte for byte in range(128) if chr(byte).isalpha()]
        kinds[letters] = _JOINS
        kinds[0x80:0xC0] = _CONTINUES
    separators = b" " if tokenizer == "spaces" else b" \t\n\v\f\r"
    kinds[list(separators)] = _SEPARATES
    return kinds


def _filled(shape, time):
    """The sizes of an output's axes; the unknown ones count tokens."""
    return [time if size is None else size for size in shape]


def _check(option, what, *, maximum, found):
    if found > maximum:
        raise invalid(
            f"A request may have at most {maximum:,} {what} (--{option}). This one has "
            f"{found:,}. Send it in parts."
        )
