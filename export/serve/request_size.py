"""The size of a request and of its answer, from shapes, before anything is computed."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..sentences import WORDS
from .request_error import invalid
from .signature import Signature

MEGABYTE = 2**20
LENGTHS = "sequence_len"
STRING_BYTES = 24  # of a string without its content

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
    sizes = [
        _tokens_and_time(array, inputs.get(LENGTHS), tokenizer)
        for array in inputs.values()
        if array.dtype == object
    ]
    tokens, times = zip(*sizes)
    size = RequestSize(rows, sum(tokens), max(times))
    maximum = limits.max_request_tokens
    _check("max-request-tokens", "tokens", maximum=maximum, found=size.tokens)
    return size


def _tokens_and_time(strings, lengths, tokenizer):
    """The tokens of all rows of texts or tokens, and the positions of the longest."""
    if strings.ndim == 1:
        counts = token_counts(strings, tokenizer)
        return int(counts.sum()), int(counts.max(initial=0))
    time = strings.shape[1]
    real = strings.size if lengths is None else lengths.clip(0, time).sum()
    return int(real), time


def check_answer(
    size: RequestSize, signature: Signature, keys: Sequence[str], *, limits: SizeLimits
) -> None:
    """Refuses a request for outputs that are too large together.

    Raises:
        RequestError: they are; the message says how large.
    """
    specs = [signature.outputs[key] for key in keys]
    total = sum(
        (spec.dtype.size or STRING_BYTES)
        * math.prod([size.rows, *_filled(spec.shape[1:], size.time)])
        for spec in specs
        if spec.shape.rank
    )
    megabytes = math.ceil(total / MEGABYTE)
    maximum = limits.max_answer_mb
    _check("max-answer-mb", "MB in its answer", maximum=maximum, found=megabytes)


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


def _filled(shape, time):
    """The sizes of an output's axes; the unknown ones count tokens."""
    return [time if size is None else size for size in shape]


def _check(option, what, *, maximum, found):
    if found > maximum:
        raise invalid(
            f"A request may have at most {maximum:,} {what} (--{option}). This one has "
            f"{found:,}. Send it in parts."
        )
