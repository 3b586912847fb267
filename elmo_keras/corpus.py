"""A text corpus in memory, and the batches a language model is trained on."""

import dataclasses
import glob
import heapq
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from elmo_keras.characters import character_ids
from elmo_keras.config import ElmoConfig
from elmo_keras.vocabulary import Vocabulary

_BEGIN, _END = 0, 1  # ids of `<S>` and `</S>` among the words of a corpus


def read_sentences(patterns: Iterable[str]) -> Iterator[list[str]]:
    """The sentences of text files, one a line, tokens split by white space.

    Args:
        patterns: paths or glob patterns; files are read in sorted order.

    Raises:
        FileNotFoundError: no file matches a pattern.
        ValueError: a file is not UTF-8; the message names file and line.
    """
    for pattern in patterns:
        paths = sorted(glob.glob(pattern, recursive=True))
        if Path(pattern).exists():  # a name may hold what is special in a pattern
            paths = [pattern]
        if not paths:
            raise FileNotFoundError(f"No file matches {pattern}.")
        for path in paths:
            yield from _lines(Path(path))


def _lines(path):
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                tokens = [token.decode("utf-8") for token in line.split()]
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{path} should be UTF-8. Line {number}: {error}"
                ) from error
            if tokens:
                yield tokens


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Sentences as numbers.

    Attributes:
        words: the distinct words, `<S>` and `</S>` first.
        tokens: int32 `(tokens,)`, an index into `words` for each token,
            sentence after sentence, without `<S>` and `</S>`.
        ends: int64 `(sentences,)`, where in `tokens` each sentence is over.
    """

    words: tuple[str, ...]
    tokens: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]]) -> "Corpus":
        """Goes through the sentences once; the empty ones are left out."""
        numbers = {"<S>": _BEGIN, "</S>": _END}
        tokens, lengths = [], []
        for sentence in filter(len, sentences):
            number = numbers.setdefault
            ids = [number(word, len(numbers)) for word in sentence]
            tokens.append(np.array(ids, dtype=np.int32))
            lengths.append(len(ids))
        flat = np.concatenate(tokens) if tokens else np.zeros(0, np.int32)
        return cls(tuple(numbers), flat, np.cumsum(lengths, dtype=np.int64))

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self.ends)

    def sentence(self, i: int) -> np.ndarray:
        """The word numbers of sentence i."""
        return self.tokens[self.ends[i - 1] if i else 0 : self.ends[i]]

    @property
    def n_predictions(self) -> int:
        """What each direction predicts: all tokens and an end of each sentence."""
        return len(self.tokens) + len(self)


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
    characters = _characters(corpus, config)
    ids = vocabulary.encode(corpus.words)
    for batch in _alike(corpus, tokens_at_once):
        words, mask = _padded(corpus, batch)
        yield {
            "sentences": tf.constant(batch),
            "characters": tf.gather(characters, words),
            "mask": tf.constant(mask),
            "ids": tf.constant(ids[words]),
        }


def _alike(corpus, tokens_at_once):
    """Numbers of sentences, the shortest first, in batches."""
    lengths = np.diff(corpus.ends, prepend=0) + 2
    batch: list[int] = []
    for i in np.argsort(lengths, kind="stable").tolist():
        if batch and lengths[i] * (len(batch) + 1) > tokens_at_once:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _padded(corpus, batch):
    rows = [np.r_[_BEGIN, corpus.sentence(i), _END] for i in batch]
    time = max(map(len, rows))
    words = np.array([np.pad(row, (0, time - len(row))) for row in rows], np.int32)
    mask = np.arange(time) < np.array([[len(row)] for row in rows])
    return words, mask


def _characters(corpus, config):
    return character_ids(tf.constant(corpus.words), config)


def stream_batches(
    corpus: Corpus,
    vocabulary: Vocabulary,
    config: ElmoConfig,
    batch_size: int,
    unroll_steps: int,
    seed: Sequence[int],
) -> tf.data.Dataset:
    """One epoch of training batches: sentences one after another in rows.

    Row r of a batch goes on where row r of the batch before ended, so LSTM state
    is to be carried over. The backward direction has rows of its own, of
    sentences read from their end: its inputs are already in reading order.

    Args:
        corpus: what to go through; every token comes once.
        vocabulary: gives the ids to predict.
        config: gives the characters.
        batch_size: number of rows.
        unroll_steps: tokens of a row in a batch.
        seed: numbers that fix the order of the sentences, e.g. (seed, epoch).

    Returns:
        A dataset of dicts: `characters` `(words, characters)` of the batch's
        distinct words; `words` `(2, batch, time)`, indices into these, forward
        and backward; `targets` `(2, batch, time)`, ids to predict; `weights`
        `(batch, time)`, 0.0 behind the last token of a row.
    """
    rows = _rows(corpus, batch_size, seed)
    inputs, targets = _directions(corpus, rows)
    steps = -(-inputs.shape[2] // unroll_steps)
    targets = np.where(targets < 0, -1, vocabulary.encode(corpus.words)[targets])

    def in_steps(stream):
        padding = steps * unroll_steps - stream.shape[2]
        stream = np.pad(stream, ((0, 0), (0, 0), (0, padding)), constant_values=-1)
        stream = stream.reshape(2, batch_size, steps, unroll_steps)
        return stream.transpose(2, 0, 1, 3)

    characters = _characters(corpus, config)

    def look_up(inputs, targets):
        distinct, words = tf.unique(tf.reshape(tf.maximum(inputs, 0), [-1]))
        return {
            "characters": tf.gather(characters, distinct),
            "words": tf.reshape(words, tf.shape(inputs)),
            "targets": tf.maximum(targets, 0),
            "weights": tf.cast(targets[0] >= 0, tf.float32),
        }

    streams = in_steps(inputs), in_steps(targets)
    # With nothing to tune, the tuner only delays the end of an iterator by seconds.
    untuned = tf.data.Options()
    untuned.autotune.enabled = False
    batches = tf.data.Dataset.from_tensor_slices(streams).map(look_up).prefetch(2)
    return batches.with_options(untuned)


def _rows(corpus, batch_size, seed):
    """Deals the sentences out in random order, each to the shortest row."""
    rows: list[list[int]] = [[] for _ in range(batch_size)]
    lengths = [(0, r) for r in range(batch_size)]
    for i in np.random.default_rng(seed).permutation(len(corpus)).tolist():
        length, r = lengths[0]
        rows[r].append(i)
        heapq.heapreplace(lengths, (length + len(corpus.sentence(i)) + 1, r))
    return rows


def _directions(corpus, rows):
    """Word numbers to read and to predict: two of (2, rows, time), −1 for none."""
    ends = np.array([[_BEGIN, _END], [_END, _BEGIN]], np.int32)
    streams = np.full((2, 2, len(rows), _longest(corpus, rows)), -1, np.int32)
    for r, row in enumerate(rows):
        for direction, (first, last) in enumerate(ends):
            pieces = [corpus.sentence(i)[:: 1 - 2 * direction] for i in row]
            read = [np.r_[first, piece] for piece in pieces]
            predicted = [np.r_[piece, last] for piece in pieces]
            for stream, parts in zip(streams, (read, predicted)):
                flat = np.concatenate([np.zeros(0, np.int32), *parts])
                stream[direction, r, : len(flat)] = flat
    return streams


def _longest(corpus, rows):
    lengths = np.diff(corpus.ends, prepend=0) + 1
    return max(int(lengths[row].sum()) for row in rows)
