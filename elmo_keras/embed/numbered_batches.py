"""A text file as batches of numbered words, in an order that suits the LSTM."""

import hashlib
import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from elmo_keras.characters import BEGIN_OF_SENTENCE_TOKEN, END_OF_SENTENCE_TOKEN
from elmo_keras.text import lines_of

BOUNDARIES = BEGIN_OF_SENTENCE_TOKEN.encode(), END_OF_SENTENCE_TOKEN.encode()
BEGIN, END = 0, 1  # numbers of the boundaries
BATCHES_AT_ONCE = 8  # sentences for so many batches are sorted together


class Batch(NamedTuple):
    """Sentences that are embedded together.

    Attributes:
        number: that of the batch, from 0.
        sentences: int64 `(sentences,)`, the line of each, from 0.
        texts: the lines themselves, without the white space around them.
        lengths: int64 `(sentences,)`, tokens of each with `<S>` and `</S>`, falling.
        words: int32 `(tokens,)`, the word numbers, sentence after sentence, with
            `<S>` and `</S>`.
        new_words: the words with the numbers that follow those of the batches
            before.
        renumbered: whether the numbers of the words begin anew with this batch.
        digest: SHA-256 of all that was read so far.
        share: the share of the file that is behind after this batch, or None
            where its size is not known.
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
        """Tokens, the boundaries not counted."""
        return len(self.words) - 2 * len(self.lengths)


class Shard(NamedTuple):
    """The lines `index − 1`, `index − 1 + count`, … of a file."""

    index: int = 1
    count: int = 1

    def holds(self, line: int) -> bool:
        """Whether it is one of them, counted from 0."""
        return line % self.count == self.index - 1

    def __str__(self):
        return f"{self.index}/{self.count}"


def read_batches(
    source: Path, shard: Shard, tokens_at_once: int, most_words: int
) -> Iterator[Batch]:
    """The sentences of a file, each once; what comes depends on the arguments only.

    Sentences of like length come together: the lines for eight batches are read
    and sorted. An empty line is a sentence without tokens.

    Args:
        source: text, plain or gzipped, one sentence a line, tokens separated by
            ASCII white space.
        shard: which lines.
        tokens_at_once: about so many tokens in a batch, unless one sentence has more.
        most_words: numbers of words begin anew some time after so many.

    Raises:
        ValueError: see `text.lines_of`.
        OSError: the file can't be read.
    """
    numbers: dict[bytes, int] = {}
    count = itertools.count()
    with source.open("rb") as file:
        share = 0.0
        for lines, digest in _chunks(file, source, shard, tokens_at_once):
            renumbered = not numbers or len(numbers) >= most_words
            if renumbered:
                numbers = {}
            known = len(numbers)
            before, share = share, _share(file)
            parts = _sorted_parts(_numbered(lines, numbers), tokens_at_once)
            new_words = list(itertools.islice(numbers, known, None))
            for i, part in enumerate(parts, 1):
                yield _batch(
                    next(count),
                    part,
                    new_words if i == 1 else [],
                    renumbered and i == 1,
                    digest,
                    share and before + (share - before) * i / len(parts),
                )


class _Sentence(NamedTuple):
    line: int
    text: bytes
    words: np.ndarray


def _chunks(file, name, shard, tokens_at_once):
    """Lines with their numbers, and the digest of the file so far."""
    digest, chunk, n_tokens = hashlib.sha256(), [], 0
    for number, line in enumerate(lines_of(file, name)):
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


def _numbered(lines, numbers):
    number = numbers.setdefault
    for word in BOUNDARIES:
        number(word, len(numbers))
    for line, text, tokens in lines:
        words = [number(token, len(numbers)) for token in tokens]
        yield _Sentence(line, text, np.array([BEGIN, *words, END], np.int32))


def _sorted_parts(sentences, tokens_at_once):
    """Sentences from the longest to the shortest, in parts of like many tokens."""
    sentences = sorted(sentences, key=lambda sentence: -len(sentence.words))
    ends = np.cumsum([len(sentence.words) for sentence in sentences])
    n_parts = -(-ends[-1] // tokens_at_once)
    borders = np.arange(1, n_parts) * ends[-1] / n_parts
    borders = [0, *np.unique(np.searchsorted(ends, borders) + 1), len(sentences)]
    parts = [sentences[a:b] for a, b in itertools.pairwise(borders)]
    return [part for part in parts if part]


def _batch(number, part, new_words, renumbered, digest, share):
    return Batch(
        number,
        np.array([sentence.line for sentence in part]),
        [sentence.text for sentence in part],
        np.array([len(sentence.words) for sentence in part]),
        np.concatenate([sentence.words for sentence in part]),
        new_words,
        renumbered,
        digest,
        share,
    )


def _share(file: BinaryIO) -> float | None:
    about = os.fstat(file.fileno())
    if not stat.S_ISREG(about.st_mode):
        return None
    return file.tell() / about.st_size
