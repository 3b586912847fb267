"""Reads a text file as batches of numbered words, sorted by length for the LSTMs."""

import hashlib
import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from elmo_keras.text.files import lines_of
from elmo_keras.text.length_batches import balanced_batches

BEGIN, END = 0, 1  # numbers of the boundaries
N_BOUNDARIES = 2
BATCHES_AT_ONCE = 8  # how many batches of sentences are sorted together


class Batch(NamedTuple):
    """Sentences that are embedded together.

    Attributes:
        number: number of the batch, from 0.
        sentences: int64 `(sentences,)`, the line number of each, from 0.
        texts: the lines, without the white space around them.
        lengths: int64 `(sentences,)`, the number of tokens of each with `<S>` and
            `</S>`, from the longest sentence to the shortest.
        words: int32 `(tokens,)`, the word numbers, sentence after sentence, with
            `<S>` and `</S>`.
        new_words: the words that this batch is the first to use; their numbers
            follow those of the batches before.
        renumbered: whether words are numbered from 0 again, from this batch on.
        digest: SHA-256 of the text read so far.
        share: the share of the file read up to the end of this batch, or None if
            its size is unknown.
    """

    number: int
    sentences: np.ndarray
    texts: list[bytes]
    lengths: np.ndarray
    words: np.ndarray
    new_words: list[bytes]
    renumbered: bool
    digest: str
    share: float | None

    @property
    def n_tokens(self) -> int:
        """Number of tokens without the boundaries."""
        return len(self.words) - 2 * len(self.lengths)


class Shard(NamedTuple):
    """The lines `index − 1`, `index − 1 + count`, … of a file."""

    index: int = 1
    count: int = 1

    def holds(self, line: int) -> bool:
        """Whether the line, counted from 0, belongs to the shard."""
        return line % self.count == self.index - 1

    def __str__(self):
        return f"{self.index}/{self.count}"


def read_batches(
    source: Path,
    shard: Shard,
    *,
    boundaries: tuple[str, str],
    tokens_at_once: int,
    max_words: int,
) -> Iterator[Batch]:
    """Yields the sentences of a file in batches of similar length, each sentence once.

    The lines of eight batches are read and sorted by length. The batches depend on
    the arguments only. An empty line is a sentence without tokens.

    Args:
        source: text, plain or gzipped, one sentence a line, tokens separated by
            ASCII white space.
        shard: which lines are read.
        boundaries: the tokens around each sentence, see `text.boundary_tokens`.
        tokens_at_once: about the number of tokens in a batch; a longer sentence is a
            batch by itself.
        max_words: after this many words, numbering starts from 0 again.

    Raises:
        ValueError: see `text.lines_of`.
        OSError: the file can't be read.
    """
    around = [token.encode() for token in boundaries]
    numbers: dict[bytes, int] = {}
    count = itertools.count()
    with source.open("rb") as file:
        share = 0.0
        lines_read = enumerate(lines_of(file, source))
        for lines, digest in _chunks(lines_read, shard, tokens_at_once):
            renumbered = not numbers or len(numbers) >= max_words
            if renumbered:
                numbers = {}
            known = len(numbers)
            before, share = share, _share(file)
            sentences = list(_numbered(lines, numbers, around))
            lengths = [len(sentence.words) for sentence in sentences]
            parts = balanced_batches(lengths, tokens_at_once)
            new_words = list(itertools.islice(numbers, known, None))
            for n, part in enumerate(parts, 1):
                yield _batch(
                    [sentences[i] for i in part],
                    number=next(count),
                    new_words=new_words if n == 1 else [],
                    renumbered=renumbered and n == 1,
                    digest=digest,
                    share=share and before + (share - before) * n / len(parts),
                )


class _Sentence(NamedTuple):
    line: int
    text: bytes
    words: np.ndarray


def _chunks(numbered_lines, shard, tokens_at_once):
    """Lines with their numbers, and the digest of the text so far."""
    digest, chunk, n_tokens = hashlib.sha256(), [], 0
    for number, line in numbered_lines:
        digest.update(line)
        if not shard.holds(number):
            continue
        tokens = line.split()
        chunk.append((number, line.strip(), tokens))
        n_tokens += len(tokens) + 2
        if n_tokens >= BATCHES_AT_ONCE * tokens_at_once:
            yield chunk, digest.hexdigest()
            chunk, n_tokens = [], 0
    if chunk:
        yield chunk, digest.hexdigest()


def _numbered(lines, numbers, around):
    number = numbers.setdefault
    for word in around:
        number(word, len(numbers))
    for line, text, tokens in lines:
        words = [number(token, len(numbers)) for token in tokens]
        yield _Sentence(line, text, np.array([BEGIN, *words, END], np.int32))


def _batch(part, **fields):
    return Batch(
        sentences=np.array([sentence.line for sentence in part]),
        texts=[sentence.text for sentence in part],
        lengths=np.array([len(sentence.words) for sentence in part]),
        words=np.concatenate([sentence.words for sentence in part]),
        **fields,
    )


def _share(file: BinaryIO) -> float | None:
    about = os.fstat(file.fileno())
    if not stat.S_ISREG(about.st_mode):
        return None
    return file.tell() / about.st_size
