"""The words a language model predicts."""

import collections
import hashlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.base.argument_checks import check_counts, shortened
from elmo_keras.base.files import naming_damage, whole_file
from elmo_keras.text.dictionary import SPECIAL_WORDS
from elmo_keras.text.sentences import Sentence, str_tokens, words_of_sentences

_SKIPPED = b"!!!MAXTERMID"  # bilm-tf skips this line
MAX_VOCABULARY = 2**28  # bytes of a file
ZIPF_SHIFT = 2.7  # added to ranks from 0; English and Korean texts have it


class Vocabulary:
    """Words with their ids: `<S>`, `</S>`, `<UNK>` and the rest by frequency.

    The sampled softmax draws low ids most often, because they are those of frequent
    words. The vocabularies made here start with the special words; in published ones
    these can have any ids, and as in bilm-tf a word that occurs twice has the last one
    of its ids, and an empty word takes an id that no token has.

    Args:
        words: the words in the order of their ids, the special ones included.

    Raises:
        ValueError: a special word is missing, or a word holds ASCII white space, which
            separates tokens.

    Example:

    >>> vocabulary = Vocabulary.count([["a", "rose", "is", "a", "rose"]])
    >>> vocabulary.words
    ('<S>', '</S>', '<UNK>', 'a', 'rose', 'is')
    >>> vocabulary.encode(["a", "daisy"])
    array([3, 2], dtype=int32)
    """

    def __init__(self, words: Sequence[str]):
        self.words = tuple(str_tokens(words))
        self._ids = {word: i for i, word in enumerate(self.words)}
        for i, word in enumerate(self.words):
            if word and word.encode().split() != [word.encode()]:
                raise ValueError(
                    "A line should hold one word, without white space. Received: "
                    f"{shortened(word)} in line {i + 1}"
                )
        missing = [word for word in SPECIAL_WORDS if word not in self._ids]
        if missing:
            raise ValueError(
                f"A vocabulary should hold {', '.join(SPECIAL_WORDS)}. Missing: "
                f"{', '.join(missing)}. Received {len(self.words):,} words, first: "
                f"{', '.join(map(shortened, self.words[:3]))}"
            )

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._ids

    def encode(self, tokens: Iterable[str]) -> np.ndarray:
        """Ids of tokens, with `<UNK>` for unknown words: int32 `(tokens,)`."""
        unknown, tokens = self.unknown, str_tokens(tokens)
        return np.array([self._ids.get(t, unknown) for t in tokens], dtype=np.int32)

    @property
    def unknown(self) -> int:
        """The id of `<UNK>`."""
        return self._ids["<UNK>"]

    @property
    def special(self) -> tuple[int, int, int]:
        """The ids of `<S>`, `</S>` and `<UNK>`."""
        begin, end, unknown = (self._ids[word] for word in SPECIAL_WORDS)
        return begin, end, unknown

    @property
    def log_frequencies(self) -> np.ndarray:
        """Logarithms of the words' frequencies, less a constant: float32 `(words,)`.

        They follow from the order of the words, after Mandelbrot 1953, "An informational theory of the
        statistical structure of language".
        """
        return -np.log(np.arange(len(self), dtype=np.float32) + ZIPF_SHIFT)

    @property
    def digest(self) -> str:
        """SHA-256 of the words in their order; a softmax is saved with it."""
        return hashlib.sha256("\n".join(self.words).encode()).hexdigest()

    @classmethod
    def count(
        cls,
        sentences: str | Iterable[Sentence],
        max_size: int | None = None,
        min_count: int = 1,
    ) -> "Vocabulary":
        """The vocabulary of sentences as in `Embedder.encode`, like `from_counts`."""
        counts = collections.Counter()
        for sentence in words_of_sentences(sentences):
            counts.update(sentence)
        return cls.from_counts(counts, max_size, min_count)

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, int], max_size: int | None = None, min_count: int = 1
    ) -> "Vocabulary":
        """The vocabulary of counted words.

        Args:
            counts: how often each word occurs.
            max_size: maximum number of words, including the special ones, or None.
            min_count: words that occur less often are left out.

        Returns:
            Words by falling frequency; equally frequent ones in the order of
            their code points, so that the order of sentences does not matter.

        Raises:
            ValueError: `max_size` leaves no room for the special words.
        """
        check_counts(least=0, min_count=min_count)
        if max_size is not None:  # the special words are among them
            check_counts(least=len(SPECIAL_WORDS), max_size=max_size)
        words = [w for w in counts if counts[w] >= min_count and w not in SPECIAL_WORDS]
        words.sort(key=lambda word: (-counts[word], word))
        return cls((*SPECIAL_WORDS, *words)[:max_size])

    @classmethod
    def load(cls, path: str | Path) -> "Vocabulary":
        """Reads a `vocab.txt`, one word a line; `ValueError` if it is none.

        Ids are those of bilm-tf: white space around a word and the line `!!!MAXTERMID`
        are left out. A warning names lines whose words can't be looked up.
        """
        content = whole_file(path, MAX_VOCABULARY)
        lines = [line.strip() for line in content.removesuffix(b"\n").split(b"\n")]
        with naming_damage(f"{path}:"):
            vocabulary = cls(list(_words(line for line in lines if line != _SKIPPED)))
        n_empty = vocabulary.words.count("")
        n_twice = len(vocabulary) - len(vocabulary._ids) - max(n_empty - 1, 0)
        if n_empty or n_twice:
            warnings.warn(
                f"{path} has {n_empty} empty lines and {n_twice} words that occur again "
                "later. As in bilm-tf these lines have ids, but no token gets them.",
                stacklevel=2,
            )
        return vocabulary

    def save(self, path: str | Path) -> None:
        """Writes a `vocab.txt`, one word a line."""
        lines = "".join(f"{word}\n" for word in self.words)
        Path(path).write_text(lines, encoding="utf-8", newline="\n")


def _words(lines):
    for line_number, line in enumerate(lines, 1):
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"The words should be in UTF-8. Line {line_number}: byte "
                f"{line[error.start]:#x}, {error.reason}"
            ) from error


def check_softmax(vocabulary_size: int | None, vocabulary: Vocabulary) -> None:
    """Raises an error if a softmax is not over the words of a vocabulary."""
    if vocabulary_size != len(vocabulary):
        raise ValueError(
            f"`bilm` should have a softmax over the {len(vocabulary)} words of the "
            f"vocabulary. Its vocabulary_size: {vocabulary_size}"
        )
