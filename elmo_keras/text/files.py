"""Reads text files, plain or gzipped, as sentences of tokens."""

import glob
import gzip
import os
import stat
import tempfile
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from elmo_keras.base.messages import say
from elmo_keras.text.sentence_splitter import sentence_words

# A longer line is not a sentence; it is refused before it fills the memory.
LONGEST_LINE = 2**20
GZIP_ERRORS = gzip.BadGzipFile, EOFError, zlib.error


def open_text(text: str, *, may_be_quoted: bool = True) -> BinaryIO:
    """The file, standard input, or the words themselves where no file can be meant."""
    if text == "-":
        if os.isatty(0):
            say("Type a text, one sentence or paragraph a line. Ctrl-D ends.")
        return open(0, "rb", closefd=False)
    path = Path(text)
    is_name = " " not in text.strip() or path.suffix[1:].isalpha()
    if not may_be_quoted or is_name or path.exists():
        return path.open("rb")
    file = tempfile.TemporaryFile()  # noqa: SIM115, the caller closes it
    file.write(text.encode())
    file.seek(0)
    return file


def text_files(patterns: Iterable[str]) -> list[Path]:
    """The files that match the patterns, sorted within each pattern."""
    files = []
    for pattern in patterns:
        paths = [Path(path) for path in sorted(glob.glob(pattern, recursive=True))]
        if Path(pattern).exists():  # a file name may hold `*` or `[`
            paths = [Path(pattern)]
        paths = [path for path in paths if not path.is_dir()]
        if not paths and Path(pattern).is_dir():
            raise IsADirectoryError(
                f"{pattern} is a folder. Give its files, such as {pattern}/*.txt"
            )
        if not paths:
            raise FileNotFoundError(f"No file matches {pattern}.")
        files.extend(paths)
    return files


def read_sentences(
    patterns: Iterable[str],
    *,
    raw_text: bool = False,
    normalization: str | None = None,
) -> Iterator[list[str]]:
    """The sentences of text files, plain or gzipped; empty ones are left out.

    A line is a sentence, its tokens separated by ASCII white space; of raw text it is a
    paragraph. `normalization` is a Unicode normal form.
    """
    for path in text_files(patterns):
        with path.open("rb") as file:
            lines = lines_of(file, path)
            if raw_text:
                paragraphs = (line.decode() for line in lines)
                tokens = (
                    [text[a:b] for a, b in row]
                    for text in paragraphs
                    for row in sentence_words(text)
                )
            else:
                sentences = (line.split() for line in lines)
                # Decoded after the split: bytes are split at ASCII white space only.
                tokens = ([token.decode() for token in line] for line in sentences)
            for sentence in filter(None, tokens):
                if normalization is not None:
                    form: Any = normalization
                    sentence = [unicodedata.normalize(form, t) for t in sentence]
                yield sentence


def lines_of(file: BinaryIO, name: str | Path) -> Iterator[bytes]:
    """The lines of an open file or pipe as UTF-8 bytes; errors name the line."""
    line_number, status = 0, os.fstat(file.fileno())
    try:
        text = unzipped(file)
        for line in bounded_lines(text):
            if not line_number and b"\r" in line.strip() and line[-1:] != b"\n":
                raise ValueError("lines should end with \\n, not with \\r alone.")
            line_number += 1
            line.decode()
            yield line.removeprefix(b"\xef\xbb\xbf") if line_number == 1 else line
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name} should be UTF-8. Line {line_number}: {error}"
        ) from error
    except GZIP_ERRORS as error:
        raise incomplete(name, error) from error
    except ValueError as error:
        raise ValueError(f"{name}, line {line_number + 1}: {error}") from error
    check_unchanged(file, status, name)


def check_unchanged(file: BinaryIO, before: os.stat_result, name: str | Path) -> None:
    now = os.fstat(file.fileno())
    same = now.st_size == before.st_size and now.st_mtime_ns == before.st_mtime_ns
    if stat.S_ISREG(now.st_mode) and not same:
        raise ValueError(
            f"{name} changed while it was read. Wait until it is complete, or read a "
            "copy of it."
        )


def bounded_lines(text: BinaryIO) -> Iterator[bytes]:
    while line := text.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise ValueError(
                f"it has more than {LONGEST_LINE:,} bytes, and a line "
                "should hold one sentence or paragraph. Split it into lines."
            )
        yield line


def incomplete(name: str | Path, error: Exception) -> ValueError:
    return ValueError(f"{name} should be a complete gzip file. {error}")


def unzipped(file: BinaryIO) -> BinaryIO:
    # Peeked, not read and opened again: a pipe can be read only once.
    zipped = file.peek(2)[:2] == b"\x1f\x8b"  # pyright: ignore[reportAttributeAccessIssue]
    return gzip.open(file) if zipped else file  # pyright: ignore[reportReturnType]
