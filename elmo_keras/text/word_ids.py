"""The ids of words and of their characters, and those of words in NumPy."""

import functools
import unicodedata
from collections.abc import Sequence

import numpy as np

from elmo_keras.config import ElmoConfig

# The tokens before and after a sentence, also of a model of ELMoForManyLangs.
BOUNDARIES = "<S>", "</S>"
DICTIONARY_BOUNDARIES = "<bos>", "<eos>"

# The published ids for training. At prediction every id is one higher, and 0 marks
# a masked position.
BEGIN_OF_SENTENCE, END_OF_SENTENCE = 256, 257
BEGIN_OF_WORD, END_OF_WORD, PADDING = 258, 259, 260


def boundary_tokens(config: ElmoConfig) -> tuple[str, str]:
    return DICTIONARY_BOUNDARIES if config.is_of_many_langs else BOUNDARIES


def is_cut(word: str, config: ElmoConfig) -> bool:
    """Whether a word is too long and loses its end."""
    if config.unicode_normalization is not None:
        word = _normalize(word.encode(), config).decode()
    length = len(word.encode() if config.dictionary is None else word)
    return not config.is_of_tokens and length > config.max_characters_per_token - 2


class WordIds:
    """From words to ids, as `text.characters.characters_of_words` makes them, in NumPy."""

    def __init__(self, config: ElmoConfig):
        self._config = config
        dictionary = config.dictionary
        if dictionary is not None:
            self._characters = index_keys(dictionary.characters)
            self._words = index_keys(dictionary.words)
            self._unknown = dictionary.unknown

    def __call__(self, words: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
        """Ids int32 `(words, config.ids_per_token)`, and where padding begins."""
        if self._config.unicode_normalization is not None:
            words = [_normalize(word, self._config) for word in words]
        if self._config.dictionary is None:
            return self._byte_ids(words)
        return self._dictionary_ids(words)

    def _byte_ids(self, words):
        length = self._config.max_characters_per_token
        begin, end = (token.encode() for token in BOUNDARIES)
        marks = {begin: BEGIN_OF_SENTENCE, end: END_OF_SENTENCE}
        cut = [b"S" if word in marks else self._cut(word) for word in words]
        ends = np.array([len(word) + 1 for word in cut], np.int64)
        ids = np.full((len(words), length), PADDING, np.int32)
        ids[:, 0] = BEGIN_OF_WORD
        index = np.arange(length)
        inside = (index > 0) & (index < ends[:, None])
        ids[inside] = np.frombuffer(b"".join(cut), np.uint8)
        ids[np.arange(len(words)), ends] = END_OF_WORD
        for row, word in enumerate(words):
            if word in marks:
                ids[row, 1] = marks[word]
        return ids + 1, ends + 1

    def _cut(self, word):
        limit = self._config.max_characters_per_token - 2
        if len(word) <= limit:
            return word
        if self._config.cut_at == "character":
            # Never before a continuation byte, 10xxxxxx, unless there are four.
            first = max(limit - 3, 0)
            starts = [i for i in range(first, limit + 1) if word[i] & 0xC0 != 0x80]
            limit = starts[-1] if starts else limit
        return word[:limit]

    def _dictionary_ids(self, words):
        config, keys = self._config, self._characters
        length = None if config.is_of_tokens else config.max_characters_per_token - 2
        texts = [_text(word) for word in words]
        ids = np.zeros((len(words), config.ids_per_token), np.int32)
        first = 0
        if config.word_embedding_dim:
            unknown = self._words[self._unknown]
            ids[:, 0] = [self._words.get(text[:length], unknown) for text in texts]
            first = 1
        ends = np.zeros(len(words), np.int64)
        if config.has_characters:
            ids[:, first:], unknown = keys["<pad>"], keys["<oov>"]
            for row, text in enumerate(texts):
                is_boundary = text in DICTIONARY_BOUNDARIES
                letters = [text] if is_boundary else text[:length]
                characters = [keys.get(c, unknown) for c in letters]
                # The two marks are swapped in the code that trained these models.
                marked = [keys["<eow>"], *characters, keys["<bow>"]]
                ids[row, first : first + len(marked)] = marked
                ends[row] = len(marked)
        return ids + 1, ends


def index_keys(keys: str) -> dict[str, int]:
    """Key → its line in the text of a dictionary, from 0."""
    return {key: i for i, key in enumerate(keys.split("\n")) if key}


def _normalize(word, config):
    try:
        text = word.decode()
    except UnicodeDecodeError:
        return word
    return unicodedata.normalize(config.unicode_normalization, text).encode()


@functools.lru_cache(maxsize=2**16)
def _text(word):
    """Bytes that are not UTF-8 become U+FFFD each, as in TensorFlow."""
    return word.decode(errors="replace")
