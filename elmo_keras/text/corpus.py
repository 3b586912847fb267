"""A text corpus as numbers, in memory or in files, and its batches for evaluation."""

import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import tensorflow as tf

from elmo_keras.characters import character_ids, words_cut
from elmo_keras.config import ElmoConfig
from elmo_keras.vocabulary import Vocabulary

BEGIN, END = 0, 1  # numbers of `<S>` and `</S>` among the words of a corpus

_AT_ONCE = 2**20  # numbers held while a corpus is written, and words looked at
_TOKENS, _ENDS, _WORDS, _ABOUT = "tokens.int32", "ends.int64", "words.txt", "about.json"


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Sentences as numbers.

    Attributes:
        words: the distinct words, `<S>` and `</S>` first.
        tokens: int32 `(tokens,)`, an index into `words` for each token,
            sentence after sentence, without `<S>` and `</S>`. A memory map where
            the corpus lies in files, so that it may be larger than the memory.
        ends: int64 `(sentences,)`, where in `tokens` each sentence is over.
        digest: SHA-256 of the sentences, however they lay in files.
    """

    words: tuple[str, ...]
    tokens: np.ndarray
    ends: np.ndarray
    digest: str

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]]) -> "Corpus":
        """Goes through the sentences once; the empty ones are left out."""
        tokens, ends = _Growing(np.int32), _Growing(np.int64)
        words, digest = _number(sentences, tokens, ends)
        return cls(words, tokens.joined(), ends.joined(), digest)

    @classmethod
    def in_files(
        cls, sentences: Iterable[Sequence[str]], folder: Path, sources: Any
    ) -> "Corpus":
        """As `of`, but kept in a folder, which holds it already or will.

        Args:
            sentences: gone through if the folder doesn't hold them.
            folder: made if there is none; four bytes a token and eight a sentence.
            sources: what the sentences come from, as JSON can hold it: kept there
                and compared.
        """
        about = folder / _ABOUT
        if about.exists():
            found = json.loads(about.read_text())
            if found["sources"] == sources:
                return cls._open(folder, found["digest"])
        # Beside it, so that a run which reads the old files keeps them.
        new = folder.with_name(f"{folder.name}.{os.getpid()}")
        new.mkdir(parents=True)
        try:
            digest = _write(sentences, new, sources)
            shutil.rmtree(folder, ignore_errors=True)
            os.replace(new, folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        return cls._open(folder, digest)

    @classmethod
    def _open(cls, folder, digest):
        words = tuple((folder / _WORDS).read_bytes().decode().split("\n"))
        arrays = (
            np.memmap(folder / name, dtype, "r")
            if (folder / name).stat().st_size
            else np.zeros(0, dtype)  # nothing can't be mapped
            for name, dtype in ((_TOKENS, np.int32), (_ENDS, np.int64))
        )
        return cls(words, *arrays, digest)

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self.ends)

    def sentence(self, i: int) -> np.ndarray:
        """The word numbers of sentence i."""
        return self.tokens[self.ends[i - 1] if i else 0 : self.ends[i]]

    def lengths(self) -> np.ndarray:
        """The number of tokens of each sentence."""
        return np.diff(self.ends, prepend=0)

    @property
    def n_predictions(self) -> int:
        """What each direction predicts: all tokens and an end of each sentence."""
        return len(self.tokens) + len(self)

    def counts(self) -> np.ndarray:
        """How often each of `words` stands among the tokens: int64 `(words,)`."""
        counts = np.zeros(len(self.words), np.int64)
        for first in range(0, len(self.tokens), _AT_ONCE):
            some = self.tokens[first : first + _AT_ONCE]
            counts += np.bincount(some, minlength=len(counts))
        return counts

    def every(self, n: int, first: int) -> "Corpus":
        """Every n-th sentence, from number `first` on: a part for one of n workers."""
        if n == 1:
            return self
        parts = [self.sentence(i) for i in range(first, len(self), n)]
        tokens = np.concatenate([np.zeros(0, np.int32), *parts])
        ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        return Corpus(self.words, tokens, ends, f"{self.digest} {first}/{n}")


class _Growing:
    """An array that grows in memory, or in a file, piece by piece."""

    def __init__(self, dtype, file: BinaryIO | None = None):
        self.dtype, self.file = dtype, file
        self.waiting: list[int] = []
        self.pieces: list[np.ndarray] = []

    def extend(self, numbers):
        self.waiting.extend(numbers)
        if len(self.waiting) >= _AT_ONCE:
            self.flush()

    def flush(self):
        piece = np.array(self.waiting, self.dtype)
        self.waiting.clear()
        self.pieces.append(piece) if self.file is None else self.file.write(piece)

    def joined(self):
        return np.concatenate(self.pieces)


def _number(sentences, tokens, ends):
    """Writes the sentences' numbers; returns the words and the digest."""
    numbers = {"<S>": BEGIN, "</S>": END}
    number = numbers.setdefault
    digest, end = hashlib.sha256(), 0
    for sentence in filter(len, sentences):
        digest.update(" ".join(sentence).encode() + b"\n")
        tokens.extend([number(word, len(numbers)) for word in sentence])
        ends.extend([end := end + len(sentence)])
    tokens.flush()
    ends.flush()
    return tuple(numbers), digest.hexdigest()


def _write(sentences, folder, sources):
    """Writes the files of a corpus; returns its digest."""
    with (folder / _TOKENS).open("wb") as t, (folder / _ENDS).open("wb") as e:
        growing = _Growing(np.int32, t), _Growing(np.int64, e)
        words, digest = _number(sentences, *growing)
    (folder / _WORDS).write_bytes("\n".join(words).encode())
    about = {"sources": sources, "digest": digest}
    (folder / _ABOUT).write_text(json.dumps(about))
    return digest


@dataclasses.dataclass(frozen=True)
class Report:
    """What a corpus holds.

    Attributes:
        sentences, tokens, distinct_words: numbers of them.
        unknown: share of the tokens that are not in the vocabulary.
        cut: share of the tokens that have too many characters.
        cut_examples: the most frequent words that are cut.
    """

    sentences: int
    tokens: int
    distinct_words: int
    unknown: float
    cut: float
    cut_examples: tuple[str, ...]

    def __str__(self):
        examples = ", ".join(self.cut_examples)
        return (
            f"{self.sentences:,} sentences, {self.tokens:,} tokens, "
            f"{self.distinct_words:,} distinct words; {self.unknown:.2%} of the tokens "
            f"are <UNK>, {self.cut:.3%} are too long and cut"
            + (f", such as {examples}" if examples else "")
        )


def report(corpus: Corpus, vocabulary: Vocabulary, config: ElmoConfig) -> Report:
    """Counts what a corpus holds, and what the vocabulary and the model lose of it."""
    counts = corpus.counts()
    unknown = vocabulary.encode(corpus.words) == vocabulary.unknown
    cut = np.concatenate(
        [
            words_cut(list(corpus.words[first : first + _AT_ONCE]), config).numpy()
            for first in range(0, len(corpus.words), _AT_ONCE)
        ]
    )
    total = max(1, len(corpus.tokens))
    places = np.flatnonzero(cut)
    most = places[np.argsort(-counts[places], kind="stable")][:3]
    return Report(
        len(corpus),
        len(corpus.tokens),
        int((counts > 0).sum()),
        float(counts[unknown].sum() / total),
        float(counts[cut].sum() / total),
        tuple(corpus.words[i] for i in most),
    )


def sentence_batches(
    corpus: Corpus, vocabulary: Vocabulary, config: ElmoConfig, tokens_at_once: int
) -> Iterator[dict[str, tf.Tensor]]:
    """The sentences in batches of like length, for evaluation.

    Args:
        corpus: what to go through; each sentence comes once.
        vocabulary: gives the ids to predict.
        config: gives the characters.
        tokens_at_once: most tokens in a batch, padding and boundaries counted,
            unless a single sentence has more.

    Yields:
        Dicts: `sentences` int32 `(batch,)`, numbers of sentences; `characters`
        `(batch, time, characters)` with `<S>` and `</S>`; `mask` `(batch, time)`;
        `ids` `(batch, time)` of the vocabulary.
    """
    ids = vocabulary.encode(corpus.words)
    for batch in _alike(corpus, tokens_at_once):
        words, mask = _padded(corpus, batch)
        distinct, places = np.unique(words, return_inverse=True)
        characters = character_ids([corpus.words[i] for i in distinct], config)
        yield {
            "sentences": tf.constant(batch),
            "characters": tf.gather(characters, places.reshape(words.shape)),
            "mask": tf.constant(mask),
            "ids": tf.constant(ids[words]),
        }


def _alike(corpus, tokens_at_once):
    """Numbers of sentences, the shortest first, in batches."""
    lengths = corpus.lengths() + 2
    batch: list[int] = []
    for i in np.argsort(lengths, kind="stable").tolist():
        if batch and lengths[i] * (len(batch) + 1) > tokens_at_once:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _padded(corpus, batch):
    rows = [np.r_[BEGIN, corpus.sentence(i), END] for i in batch]
    time = max(map(len, rows))
    words = np.array([np.pad(row, (0, time - len(row))) for row in rows], np.int32)
    mask = np.arange(time) < np.array([[len(row)] for row in rows])
    return words, mask
