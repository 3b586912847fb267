"""What the ids of a `DictionaryCharacterCNN` stand for."""

import dataclasses
import hashlib

# Keys of a dictionary that stand for no character of a word, and for no word.
CHARACTER_MARKS = ("<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>")
UNKNOWN_WORD = "<oov>"


@dataclasses.dataclass(frozen=True)
class TokenDictionary:
    """The characters and words that a model of ELMoForManyLangs knows.

    Each has one key on a line; line i, counted from 0, is the key of id i. The line of
    an id without a key is empty. Among the characters, which are Unicode, are the marks
    of `CHARACTER_MARKS`, among the words is `<oov>`; either may be empty, but not both.

    Raises:
        ValueError: a mark is missing, or a key occurs twice.
    """

    characters: str = dataclasses.field(repr=False)
    words: str = dataclasses.field(default="", repr=False)

    def __post_init__(self):
        if self.characters or not self.words:
            _check_keys("characters", self.characters, CHARACTER_MARKS)
        if self.words:
            _check_keys("words", self.words, (UNKNOWN_WORD,))

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
    missing = sorted(set(marks) - set(keys))
    if missing:
        raise ValueError(
            f"The dictionary of {field} should hold {' '.join(marks)}. Missing: "
            f"{' '.join(missing)}"
        )
    if len(set(keys)) != len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(
            f"The dictionary of {field} should hold each key once. Twice: {twice!r}"
        )
