"""Reads files of word vectors: GloVe, and word2vec as text or binary."""

import collections
import functools
import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from elmo_keras.text.files import GZIP_ERRORS, unzipped

LONGEST_LINE = 2**20  # bytes
LONGEST_WORD = 2**12
LARGEST_DIM = 2**14
# What published vectors also come in, by the first bytes.
OTHER_FORMATS = {
    b"PK\x03\x04": "It is a zip: unzip it, and give the file of one size.",
    b"\xba\x16\x4f\x2f": "It is a model of fastText: give its .vec file.",
}

# A word, and the function that parses its numbers.
Entry = tuple[bytes, Callable[[], np.ndarray]]


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
    with Path(path).open("rb") as file:
        try:
            dim, entries = _opened(unzipped(file))
            found = _collected(entries, wanted)
        except (ValueError, *GZIP_ERRORS) as error:
            raise ValueError(
                f"{path} should hold word vectors of GloVe or word2vec, plain or "
                f"gzipped. {error}"
            ) from error
    vectors = np.array(list(found.values()), np.float32).reshape(len(found), dim)
    return WordVectorFile(tuple(found), vectors)


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
    file = read_word_vectors(path, {f for of_word in forms.values() for f in of_word})
    rows = {form: row for row, form in enumerate(file.words)}
    chosen: dict[str, int] = {}
    for word, of_word in forms.items():
        for form in of_word:
            if form in rows:
                chosen.setdefault(word, rows[form])
    return WordVectorFile(tuple(chosen), file.vectors[list(chosen.values())])


def _collected(entries, wanted):
    found: dict[str, np.ndarray] = {}
    for number, (word, parse) in enumerate(entries, 1):
        word = word.decode("utf-8", "replace")
        if word in found or not (wanted is None or word in wanted):
            continue
        vector = parse()
        if not np.isfinite(vector).all():
            raise ValueError(
                f"The numbers of word {number}, {word!r}, should be finite."
            )
        found[word] = vector
    return found


def _opened(file: BinaryIO) -> tuple[int, Iterator[Entry]]:
    """The size of the vectors, and the entries of a file in any format."""
    first = file.readline(LONGEST_LINE)
    if problem := OTHER_FORMATS.get(first[:4]):
        raise ValueError(problem)
    heading = first.split()
    if len(heading) != 2 or not all(cell.isdigit() for cell in heading):
        dim = len(first.rstrip().split(b" ")) - 1
        if dim < 2:
            raise ValueError(f"Line 1 should be a word and its numbers: {first[:80]!r}")
        entry = _of_line(first, dim, 1)
        entry[1]()  # a file of something else fails here
        return dim, itertools.chain([entry], _text(file, dim, n_words=None))
    n_words, dim = map(int, heading)
    if not 0 < dim <= LARGEST_DIM:
        raise ValueError(f"Line 1 says that vectors have {dim} dimensions.")
    read = _text if _is_text(file.peek(LONGEST_LINE)) else _binary
    return dim, read(file, dim, n_words)


def _is_text(start):
    """Whether numbers follow the first word, as far as the line was read ahead."""
    line, line_end, _ = start.partition(b"\n")
    cells = line.rstrip().split(b" ")[1:]
    if not line_end:
        cells = cells[:-1]  # may be cut
    try:
        return all(np.isfinite(float(cell)) for cell in cells) and bool(cells)
    except ValueError:
        return False


def _text(file, dim, n_words):
    """Entries of lines; the word may contain spaces, as some of GloVe's do."""
    number = 1
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), 2):
        yield _of_line(line, dim, number)
    if n_words is not None and number - 1 < n_words:
        raise ValueError(
            f"Line 1 says {n_words:,} words. Found: {number - 1:,}; the end of the file "
            "is missing."
        )


def _of_line(line, dim, number) -> Entry:
    def malformed():
        return ValueError(
            f"Line {number:,} should hold a word and {dim} numbers. Found: "
            f"{line[:80].decode('utf-8', 'replace')!r}"
        )

    def parse():
        try:
            return np.array(numbers, np.float32)
        except ValueError:
            raise malformed() from None

    word, *numbers = line.rstrip().rsplit(b" ", dim)
    if len(numbers) < dim:
        raise malformed()
    return word, parse


def _binary(file: BinaryIO, dim, n_words):
    """Entries `word SPACE float32…`, with or without a line break between them."""
    for number in range(1, n_words + 1):
        word = _word(file, number)
        content = file.read(4 * dim)
        if len(content) < 4 * dim:
            raise ValueError(
                f"Line 1 says {n_words:,} words. The file ends within word {number:,}."
            )
        yield word, functools.partial(np.frombuffer, content, "<f4")


def _word(file, number):
    word = bytearray()
    while (byte := file.read(1)) != b" ":
        if not byte or len(word) > LONGEST_WORD:
            raise ValueError(f"Word {number:,} has no end.")
        if byte != b"\n":
            word += byte
    return bytes(word)
