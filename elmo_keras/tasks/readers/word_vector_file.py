"""Reads files of word vectors: GloVe, and word2vec as text or binary."""

import codecs
import collections
import itertools
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_keras.text.files import GZIP_ERRORS, unzipped

MAX_LINE, MAX_WORD, MAX_DIM = 2**20, 2**12, 2**14  # bytes, bytes, numbers
# What published vectors also come in, by the first bytes.
OTHER_FORMATS = {
    b"PK\x03\x04": "It is a zip: unzip it, and give the file of one size.",
    b"\xba\x16\x4f\x2f": "It is a model of fastText: give its .vec file.",
}


class WordVectorFile(NamedTuple):
    """Words, and their vectors, float32 `(words, dim)`."""

    words: tuple[str, ...]
    vectors: np.ndarray


def read_word_vectors(
    path: str | Path, wanted: Container[str] | None = None
) -> WordVectorFile:
    """Reads the vectors of words; of repeated words, the first one counts.

    word2vec's files and fastText's `.vec` start with the numbers of words and of
    dimensions, GloVe's with the first word.
    """
    rows: dict[str, np.ndarray] = {}
    with Path(path).open("rb") as file:
        try:
            dim, entries = _read_start(unzipped(file))
            for index, (content, numbers) in enumerate(entries, 1):
                word = content.decode("utf-8", "replace")
                if word in rows or not (wanted is None or word in wanted):
                    continue
                vector = _finite(numbers)
                if vector is None:
                    raise ValueError(
                        f"Word {index:,}, {word!r}, should have {dim} finite numbers."
                    )
                rows[word] = vector
        except (ValueError, *GZIP_ERRORS) as error:
            raise ValueError(
                f"{path} should hold word vectors of GloVe or word2vec, plain or "
                f"gzipped. {error}"
            ) from error
    vectors = np.array(list(rows.values()), np.float32).reshape(len(rows), dim)
    return WordVectorFile(tuple(rows), vectors)


def read_lower_case_vectors(
    path: str | Path, sentences: Iterable[Sequence[str]]
) -> WordVectorFile:
    """Reads the vectors of the words of sentences (lists of tokens), for `TokenVectors`.

    A word has the vector of its lower-case form or, where the file lacks this form, the
    vector of the form that is most frequent in the sentences. The words that have one are
    in lower case, the most frequent one first. `read_word_vectors` knows the formats.

    Raises:
        ValueError, OSError: the file is damaged, of another format, or can't be read.
    """
    counts = collections.Counter(token for tokens in sentences for token in tokens)
    forms: dict[str, list[str]] = {}  # by preference: lower case, then by frequency
    for token in sorted(counts, key=lambda token: (-counts[token], token)):
        forms.setdefault(token.lower(), [token.lower()]).append(token)
    file = read_word_vectors(path, set(itertools.chain.from_iterable(forms.values())))
    row_of = {form: row for row, form in enumerate(file.words)}
    rows = {
        word: next(row_of[form] for form in word_forms if form in row_of)
        for word, word_forms in forms.items()
        if not row_of.keys().isdisjoint(word_forms)
    }
    return WordVectorFile(tuple(rows), file.vectors[list(rows.values())])


def _read_start(file):
    """The size of the vectors, and each word with its numbers as text or as bytes."""
    first = file.readline(MAX_LINE).removeprefix(codecs.BOM_UTF8)
    if problem := OTHER_FORMATS.get(first[:4]):
        raise ValueError(problem)
    lines = iter(lambda: file.readline(MAX_LINE), b"")
    heading = first.split()
    if len(heading) == 2 and all(cell.isdigit() for cell in heading):
        n_words, dim = map(int, heading)
        if not 0 < dim <= MAX_DIM:
            raise ValueError(f"Line 1 says that vectors have {dim} dimensions.")
        if _is_text(file.peek(MAX_LINE)):
            return dim, _read_text(lines, dim, n_words)
        return dim, _read_binary(file, dim, n_words)
    cells = first.rstrip().split(b" ")[1:]
    if len(cells) < 2 or _finite(cells) is None:
        raise ValueError(f"Line 1 should be a word and its numbers: {first[:80]!r}")
    return len(cells), _read_text(itertools.chain([first], lines), len(cells))


def _is_text(start):
    """Whether numbers follow the first word, as far as the line was read ahead."""
    line, line_end, _ = start.partition(b"\n")
    cells = line.rstrip().split(b" ")[1:]
    if not line_end:
        cells = cells[:-1]  # may be cut
    return bool(cells) and _finite(cells) is not None


def _finite(numbers):
    """The numbers of an entry, or None if they are no finite ones."""
    try:
        is_text = isinstance(numbers, list)
        vector = np.array(numbers, "f4") if is_text else np.frombuffer(numbers, "<f4")
    except ValueError:
        return None
    return vector if np.isfinite(vector).all() else None


def _read_text(lines, dim, n_words=0):
    """Entries of lines; the word may contain spaces, as some of GloVe's do."""
    index = 0
    filled = itertools.filterfalse(bytes.isspace, lines)
    for index, line in enumerate(filled, 1):
        word, *numbers = line.rstrip().rsplit(b" ", dim)
        if len(numbers) < dim:
            raise ValueError(
                f"Word {index:,} should have {dim} numbers. Its line: {line[:80]!r}"
            )
        yield word, numbers
    if index < n_words:
        raise ValueError(
            f"Line 1 says {n_words:,} words. The file ends after {index:,}."
        )


def _read_binary(file, dim, n_words):
    """Entries `word SPACE float32…`, with or without a line break between them."""
    for index in range(1, n_words + 1):
        word = bytearray()
        while (byte := file.read(1)) != b" ":
            if not byte or len(word) > MAX_WORD:
                raise ValueError(f"Word {index:,} has no end.")
            word += byte
        numbers = file.read(4 * dim)
        if len(numbers) < 4 * dim:
            raise ValueError(
                f"Line 1 says {n_words:,} words. The file ends within word {index:,}."
            )
        yield bytes(word).lstrip(b"\n"), numbers
