"""The characters and words that have ids of their own in a model."""

import collections
import dataclasses
import hashlib
from collections.abc import Sequence

# Keys of a dictionary that stand for no character of a word, and for no word.
CHARACTER_MARKS = ("<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>")
UNKNOWN_WORD = "<oov>"
SPECIAL_WORDS = "<S>", "</S>", "<UNK>"  # every vocabulary of bilm-tf has them


@dataclasses.dataclass(frozen=True)
class TokenDictionary:
    """The characters and words that a model of ELMoForManyLangs or of tokens knows.

    Line i, counted from 0, is the key of id i, or empty if it has none. Among the
    characters, which are Unicode, are the marks of `CHARACTER_MARKS`, among the words is
    `<oov>`; either may be empty, but not both. With `is_vocabulary` the words are those
    of a `vocab.txt` of bilm-tf with its special words, and there are no characters.

    Raises:
        ValueError: a mark is missing, or a key occurs twice.
    """

    characters: str = dataclasses.field(repr=False)
    words: str = dataclasses.field(default="", repr=False)
    is_vocabulary: bool = False

    def __post_init__(self):
        if self.is_vocabulary:
            _check_keys("words", self.words, SPECIAL_WORDS)
        elif self.characters or not self.words:
            _check_keys("characters", self.characters, CHARACTER_MARKS)
        if self.words and not self.is_vocabulary:
            _check_keys("words", self.words, (UNKNOWN_WORD,))

    @classmethod
    def from_vocabulary(cls, words: Sequence[str]) -> "TokenDictionary":
        """The dictionary of a model of tokens; a word has the id of its last line."""
        ids = {word: i for i, word in enumerate(words)}
        keys = (word if ids[word] == i else "" for i, word in enumerate(words))
        return cls("", "\n".join(keys), is_vocabulary=True)

    @property
    def unknown(self) -> str:
        """The word whose id unknown words get."""
        return SPECIAL_WORDS[2] if self.is_vocabulary else UNKNOWN_WORD

    @property
    def n_characters(self) -> int:
        """Number of ids of characters, 0 for a model of words only."""
        return self.characters.count("\n") + bool(self.characters)

    @property
    def n_words(self) -> int:
        """Number of ids of words, 0 for a model of characters only."""
        return self.words.count("\n") + bool(self.words)

    @property
    def digest(self) -> str:
        """SHA-256 of the keys."""
        digest = hashlib.sha256(self.characters.encode())
        digest.update(b"\n\n" + self.words.encode())
        return digest.hexdigest()


def _check_keys(field, text, marks):
    keys = [key for key in text.split("\n") if key]
    expected = f"The dictionary of {field} should hold"
    if missing := sorted({*marks} - {*keys}):
        raise ValueError(f"{expected} {' '.join(marks)}. Missing: {' '.join(missing)}")
    if len({*keys}) != len(keys):
        [(twice, _)] = collections.Counter(keys).most_common(1)
        raise ValueError(f"{expected} each key once. Twice: {twice!r}")
