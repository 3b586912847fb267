"""Reads files of word vectors as text: GloVe's, word2vec's and fastText's."""

import codecs
import collections
import itertools
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_keras.base.files import naming_damage
from elmo_keras.text.files import unzipped

MAX_LINE = 2**20  # bytes


class WordVectorFile(NamedTuple):
    """Words, and their vectors, float32 `(words, dim)`."""

    words: tuple[str, ...]
    vectors: np.ndarray


def read_word_vectors(
    path: str | Path, words: Container[str] | None = None
) -> WordVectorFile:
    """Reads the vectors of words, or of all, as text: GloVe's, word2vec's and fastText's.

    If a word is repeated, its first vector counts. word2vec's files and fastText's `.vec` start
    with the numbers of words and of dimensions, GloVe's with the first word.
    """
    rows: dict[str, np.ndarray] = {}
    with (
        Path(path).open("rb") as file,
        naming_damage(
            f"{path} should hold word vectors of GloVe or word2vec as text, plain or gzipped."
        ),
    ):
        dim, entries = _read_start(unzipped(file))
        for index, (content, cells) in enumerate(entries, 1):
            word = content.decode("utf-8", "replace")
            if word in rows or not (words is None or word in words):
                continue
            vector = _finite(cells)
            if vector is None:
                raise ValueError(
                    f"Word {index:,}, {word!r}, should have {dim} finite numbers."
                )
            rows[word] = vector
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
    forms: dict[str, list[str]] = {}  # lower case first, then the most frequent
    for token in sorted(counts, key=lambda token: (-counts[token], token)):
        forms.setdefault(token.lower(), [token.lower()]).append(token)
    file = read_word_vectors(path, set(itertools.chain.from_iterable(forms.values())))
    row_of = {form: row for row, form in enumerate(file.words)}
    rows = {}
    for word, word_forms in forms.items():
        if listed := [row_of[form] for form in word_forms if form in row_of]:
            rows[word] = listed[0]
    return WordVectorFile(tuple(rows), file.vectors[list(rows.values())])


def _read_start(file):
    """The size of the vectors, and each word with its numbers."""
    first = file.readline(MAX_LINE).removeprefix(codecs.BOM_UTF8)
    lines = iter(lambda: file.readline(MAX_LINE), b"")
    heading = first.split()
    if len(heading) == 2 and all(cell.isdigit() for cell in heading):
        n_words, dim = map(int, heading)
        return dim, _read_text(lines, dim, n_words)
    cells = first.rstrip().split(b" ")[1:]
    if len(cells) < 2 or _finite(cells) is None:
        raise ValueError(f"Line 1 should be a word and its numbers: {first[:80]!r}")
    return len(cells), _read_text(itertools.chain([first], lines), len(cells))


def _finite(cells):
    """The numbers of an entry, or None if they are not finite numbers."""
    try:
        vector = np.array(cells, np.float32)
    except ValueError:
        return None
    return vector if np.isfinite(vector).all() else None


def _read_text(lines, dim, n_words=0):
    """Yields each word with its numbers; a word of GloVe may contain spaces."""
    index = 0
    for index, line in enumerate(itertools.filterfalse(bytes.isspace, lines), 1):
        word, *cells = line.rstrip().rsplit(b" ", dim)
        if len(cells) < dim:
            raise ValueError(
                f"Word {index:,} should have {dim} numbers. Its line: {line[:80]!r}"
            )
        yield word, cells
    if index < n_words:
        raise ValueError(f"Line 1 says {n_words:,} words. The file has {index:,}.")
