"""A text corpus as word ids, in memory or in files."""

import contextlib
import dataclasses
import hashlib
import io
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_keras.base.files import file_stamp
from elmo_keras.config import ElmoConfig
from elmo_keras.text.sentences import Sentence, words_of_sentences
from elmo_keras.text.tokenizers import Tokenizer
from elmo_keras.text.vocabulary import Vocabulary
from elmo_keras.text.word_ids import boundary_tokens, is_cut

BEGIN, END = 0, 1  # ids of `<S>` and `</S>` in every corpus

_AT_ONCE = 2**20  # ids that are counted at a time
_TOKENS, _ENDS, _WORDS = "tokens.int32", "ends.int64", "words.txt"
_METADATA = "metadata.json"


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Sentences as word ids.

    Attributes:
        words: the distinct words, `<S>` and `</S>` first.
        tokens: int32 `(tokens,)`, an index into `words` for each token,
            sentence after sentence, without `<S>` and `</S>`. A memory map if the
            corpus is in files, so it may be larger than memory.
        ends: int64 `(sentences,)`, the index in `tokens` after each sentence.
        digest: SHA-256 of the sentences, independent of their files.
    """

    words: tuple[str, ...]
    tokens: np.ndarray
    ends: np.ndarray
    digest: str

    @classmethod
    def from_sentences(
        cls,
        sentences: str | Iterable[Sentence],
        *,
        tokenizer: str | Tokenizer = "spaces",
    ) -> "Corpus":
        """The corpus of sentences as in `Embedder.encode`, without empty ones."""
        tokens, ends = io.BytesIO(), io.BytesIO()
        split = words_of_sentences(sentences, tokenizer)
        words, digest = _write_ids(split, tokens, ends)
        return cls(
            words,
            np.frombuffer(tokens.getbuffer(), np.int32),
            np.frombuffer(ends.getbuffer(), np.int64),
            digest,
        )

    @classmethod
    def in_files(
        cls, sentences: Iterable[Sequence[str]], folder: Path, sources: Any
    ) -> "Corpus":
        """Like `from_sentences`, but kept in a folder: four bytes a token, eight a sentence.

        The sentences are read only if the folder holds none of the same `sources`, a
        JSON value that identifies where they come from.
        """
        # A folder that is missing or damaged is written again.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            metadata = json.loads((folder / _METADATA).read_text())
            is_same = metadata["sources"] == sources
            if is_same and metadata["files"] == _fingerprints(folder):
                return cls._open(folder, metadata["digest"])
        # Written beside it: another run may be reading the old files.
        new = folder.with_name(f"{folder.name}.{os.getpid()}")
        shutil.rmtree(new, ignore_errors=True)  # left by a killed process
        new.mkdir(parents=True)
        try:
            with (new / _TOKENS).open("wb") as t, (new / _ENDS).open("wb") as e:
                words, digest = _write_ids(sentences, t, e)
            (new / _WORDS).write_bytes("\n".join(words).encode())
            files = _fingerprints(new)
            metadata = {"sources": sources, "digest": digest, "files": files}
            (new / _METADATA).write_text(json.dumps(metadata))
            shutil.rmtree(folder, ignore_errors=True)
            os.replace(new, folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        return cls._open(folder, digest)

    @classmethod
    def _open(cls, folder, digest):
        words = tuple((folder / _WORDS).read_bytes().decode().split("\n"))
        tokens = _map_file(folder / _TOKENS, np.int32)
        return cls(words, tokens, _map_file(folder / _ENDS, np.int64), digest)

    def __len__(self) -> int:
        return len(self.ends)

    def sentence(self, i: int) -> np.ndarray:
        """The word ids of sentence i."""
        return self.tokens[self.ends[i - 1] if i else 0 : self.ends[i]]

    def sentences(self) -> Iterator[list[str]]:
        """The tokens of each sentence."""
        for i in range(len(self)):
            yield [self.words[word_id] for word_id in self.sentence(i)]

    def lengths(self) -> np.ndarray:
        """The number of tokens of each sentence."""
        return np.diff(self.ends, prepend=0)

    @property
    def n_predictions(self) -> int:
        """Number of predictions of each direction: all tokens and sentence ends."""
        return len(self.tokens) + len(self)

    def tokens_of(self, config: ElmoConfig) -> list[str]:
        """`words` with the model's own tokens before and after a sentence."""
        return [*boundary_tokens(config), *self.words[2:]]

    def counts(self) -> np.ndarray:
        """The number of occurrences of each of `words`: int64 `(words,)`."""
        counts = np.zeros(len(self.words), np.int64)
        for first in range(0, len(self.tokens), _AT_ONCE):
            tokens = self.tokens[first : first + _AT_ONCE]
            counts += np.bincount(tokens, minlength=len(counts))
        return counts


def _write_ids(sentences, tokens, ends):
    """Writes the sentences' word ids to files; returns the words and the digest."""
    ids = {"<S>": BEGIN, "</S>": END}
    digest, end = hashlib.sha256(), 0
    for sentence in sentences:
        if not sentence:
            continue
        digest.update(" ".join(sentence).encode() + b"\n")
        row = [ids.setdefault(word, len(ids)) for word in sentence]
        tokens.write(np.array(row, np.int32).tobytes())
        end += len(sentence)
        ends.write(np.int64(end).tobytes())
    return tuple(ids), digest.hexdigest()


def _map_file(path, dtype):
    if not path.stat().st_size:  # an empty file can't be mapped
        return np.zeros(0, dtype)
    return np.memmap(path, dtype, "r")


def _fingerprints(folder):
    return [file_stamp(folder / name) for name in (_TOKENS, _ENDS, _WORDS)]


@dataclasses.dataclass(frozen=True)
class TextStatistics:
    sentences: int
    tokens: int
    distinct_words: int
    unknown: float
    cut: float
    cut_examples: tuple[str, ...]  # the most frequent words that are cut

    @classmethod
    def from_corpus(
        cls, corpus: Corpus, vocabulary: Vocabulary, config: ElmoConfig
    ) -> "TextStatistics":
        counts, total = corpus.counts(), max(1, len(corpus.tokens))
        cut = np.flatnonzero([is_cut(word, config) for word in corpus.words])
        frequent = cut[np.argsort(-counts[cut], kind="stable")][:3]
        return cls(
            sentences=len(corpus),
            tokens=len(corpus.tokens),
            distinct_words=int((counts > 0).sum()),
            unknown=unknown_share(corpus, vocabulary),
            cut=float(counts[cut].sum() / total),
            cut_examples=tuple(corpus.words[i] for i in frequent),
        )

    def __str__(self):
        examples = ", ".join(self.cut_examples)
        return (
            f"{self.sentences:,} sentences, {self.tokens:,} tokens, "
            f"{self.distinct_words:,} distinct words; {self.unknown:.2%} of the tokens "
            f"are <UNK>, {self.cut:.3%} are too long and cut"
            f"{f', such as {examples}' if examples else ''}"
        )


def unknown_share(corpus: Corpus, vocabulary: Vocabulary) -> float:
    unknown = vocabulary.encode(corpus.words) == vocabulary.unknown
    return float(corpus.counts()[unknown].sum() / max(1, len(corpus.tokens)))
