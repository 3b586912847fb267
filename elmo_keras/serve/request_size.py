"""The size of a request and of its answer, from shapes, before anything is computed."""

import functools
import math
from collections.abc import Sequence

from elmo_keras.export.sentences import WORDS
from elmo_keras.serve.config import MEGABYTE, Config
from elmo_keras.serve.errors import invalid
from elmo_keras.serve.joining import LENGTHS
from elmo_keras.serve.signature import Arrays, Signature

STRING_BYTES = 24  # of a string without its content

# Bytes of a token of several, of a token by themselves, of a character before them.
JOINS, ALONE, CONTINUES = b"j", b"a", b"c"


def checked_size(
    inputs: Arrays, tokenizer: str, config: Config
) -> tuple[int, int, int]:
    """The number of rows, tokens and columns; for text, tokens are an upper bound."""
    rows = len(next(iter(inputs.values())))
    _check("max-request-rows", "sentences", config.max_request_rows, rows)
    tokens = time = 0
    for strings in (array for array in inputs.values() if array.dtype == object):
        if strings.ndim == 1:
            counts = token_counts(strings, tokenizer)
            tokens, longest = tokens + sum(counts), max(counts, default=0)
        else:
            longest, lengths = strings.shape[1], inputs.get(LENGTHS)
            real = lengths.clip(0, longest).sum() if lengths is not None else None
            tokens += int(strings.size if real is None else real)
        time = max(time, longest)
    _check("max-request-tokens", "tokens", config.max_request_tokens, tokens)
    return rows, tokens, time


def check_answer(
    rows: int, time: int, signature: Signature, keys: Sequence[str], config: Config
) -> None:
    total = 0
    for spec in (signature.outputs[key] for key in keys):
        if spec.shape.rank:  # axes of unknown size count tokens
            axes = [time if n is None else n for n in spec.shape[1:]]
            total += (spec.dtype.size or STRING_BYTES) * math.prod([rows, *axes])
    found = math.ceil(total / MEGABYTE)
    _check("max-answer-mb", "MB in its answer", config.max_answer_mb, found)


def token_counts(texts: Sequence[bytes], tokenizer: str) -> list[int]:
    """The number of tokens of each text; with punctuation, an upper bound."""
    table, counts = _kinds(tokenizer), []
    for text in texts:
        kinds = b" " + text.translate(table)
        starts = sum(kinds.count(before + JOINS) for before in (b" ", ALONE, CONTINUES))
        counts.append(starts + kinds.count(ALONE))
    return counts


@functools.cache
def _kinds(tokenizer):
    """How each byte takes part in a token, for `bytes.translate`."""
    spaces = b" " if tokenizer == "spaces" else b" \t\n\v\f\r"
    kinds = [JOINS] * 256
    if tokenizer in ("unicode_script", WORDS):
        for byte in range(256):
            if not chr(byte).isalpha() or byte > 127:
                kinds[byte] = CONTINUES if 0x80 <= byte < 0xC0 else ALONE
    for byte in spaces:
        kinds[byte] = b" "
    return b"".join(kinds)


def _check(option, what, maximum, found):
    if found > maximum:
        raise invalid(
            f"A request may have at most {maximum:,} {what} (--{option}). This one has "
            f"{found:,}. Send it in parts."
        )
