"""Sentences as programs give them, as lists of tokens in UTF-8."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from elmo_keras.base.argument_checks import shortened
from elmo_keras.text.tokenizers import Tokenizer, find_tokenizer

Sentence = str | bytes | Sequence[str | bytes]

# Methods of pandas, TensorFlow, pyarrow and PyTorch that give Python's or NumPy's values;
# none of these packages is imported here.
_CONVERSIONS = "to_list", "to_pylist", "as_py", "numpy"
_EXPECTED = (
    "should be a str, or a list of sentences, each a str or a list of tokens (str); "
    "also as strings of NumPy, pandas, pyarrow or TensorFlow"
)


def tokens_of_sentences(
    sentences: str | Iterable[Sentence],
    tokenizer: str | Tokenizer = "spaces",
    first: int = 0,
) -> Iterator[list[bytes]]:
    """The tokens of each sentence as UTF-8; decides everywhere what sentences are.

    A `str` is one sentence, split by the tokenizer or that of a name; strings in a
    list or a column are sentences, and lists or rows of them are tokens. `""` at the end
    of a row of a two-dimensional array is padding. Errors count sentences from `first`.
    """
    values = plain(sentences)
    if isinstance(values, (str, bytes)):
        values = [values]
    if not has_items(values):
        raise TypeError(f"Sentences {_EXPECTED}. Received: {_shown(sentences)}")
    split = None if tokenizer == "spaces" else find_tokenizer(tokenizer)
    return (_tokens(n, sentence, split) for n, sentence in enumerate(values, first))


def words_of_sentences(
    sentences: str | Iterable[Sentence],
    tokenizer: str | Tokenizer = "spaces",
    first: int = 0,
) -> Iterator[list[str]]:
    """Yields what `tokens_of_sentences` does, as `str`."""
    for tokens in tokens_of_sentences(sentences, tokenizer, first):
        yield [token.decode() for token in tokens]


def plain(value: Any, *, padded: bool = False) -> Any:
    """Strings of other libraries as Python's, in lists; other values as they are.

    Rows of two-dimensional arrays lose `""` at their ends, unless they stay padded.
    """
    if isinstance(value, (str, bytes, list, tuple)):
        return value
    if not is_table(value):
        for name in _CONVERSIONS:
            if hasattr(value, name):
                value = getattr(value, name)()
                break
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "OSUT":
        return value
    rows = value.tolist()
    is_padded = value.ndim == 2 and not padded
    return [without_padding(row) for row in rows] if is_padded else rows


def is_table(value: Any) -> bool:
    """Whether a value has named columns, as in pandas, polars, pyarrow and datasets."""
    return hasattr(value, "columns") or hasattr(value, "column_names")


def str_tokens(tokens: Iterable[str]) -> list[str]:
    """Tokens as a list; one string is refused, as its letters would be taken."""
    is_string = isinstance(tokens, (str, bytes))
    values = list(tokens) if isinstance(tokens, Iterable) and not is_string else None
    if values is None or not all(isinstance(token, str) for token in values):
        raise TypeError(f"Tokens should be a list of str. Received: {_shown(tokens)}")
    return values


def encoded(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def _tokens(index, value, tokenizer):
    sentence = plain(value)
    if isinstance(sentence, bytes):  # other bytes than UTF-8 are refused below
        sentence = sentence.decode(errors="surrogateescape")
    expected = f"Sentence {index} should be a str or a list of tokens (str)"
    if isinstance(sentence, str) and tokenizer is not None:
        value = sentence = tokenizer(sentence)
        expected = f"`tokenizer` should make tokens (str) of sentence {index}"
    try:
        if isinstance(sentence, (str, bytes)):
            sentence = encoded(sentence).split()  # at ASCII white space only
        if not has_items(sentence):
            raise TypeError
        tokens = [encoded(plain(token)) for token in sentence]
        joined = b"".join(tokens)
        joined.decode()  # are they UTF-8?
    except UnicodeError as error:
        raise ValueError(f"Sentence {index} should be UTF-8. {error}") from None
    except (TypeError, AttributeError):
        raise TypeError(f"{expected}. Received: {_shown(value)}") from None
    if b"" in tokens:
        raise ValueError(
            f"The tokens of sentence {index} should not be empty. Token "
            f"{tokens.index(b'')} is ''."
        )
    warn_of_spaces(joined)
    return tokens


def warn_of_spaces(tokens: bytes) -> None:
    """Warns of a token, among some without gaps, that is probably a text.

    The text is the same each time, so that Python shows it once.
    """
    if b" " in tokens:
        warnings.warn(
            "A token holds a space, which is one of its characters here. Give a sentence "
            "as one `str`, which is split, or as a list of tokens.",
            stacklevel=2,
        )


def has_items(value):
    """Whether a value can be sentences or tokens: it has an order, and no names."""
    no_sequences = Mapping, set, frozenset, np.ndarray  # other arrays became lists
    is_refused = isinstance(value, no_sequences) or is_table(value)
    return isinstance(value, Iterable) and not is_refused


def without_padding(row: Sequence) -> Sequence:
    """A row without the empty strings at its end."""
    last = len(row)
    while last and row[last - 1] in ("", b""):
        last -= 1
    return row[:last]


def _shown(value):
    return f"{' '.join(shortened(value).split()):.100} of type {type(value).__name__}"
