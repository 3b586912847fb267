"""Texts in sentences and tokens, with the positions of the tokens."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from unicodedata import normalize

from elmo_keras.text.sentence_splitter import sentence_words
from elmo_keras.text.sentences import Sentence, plain, words_of_sentences
from elmo_keras.text.tokenizers import Span

_ACRONYM = re.compile(r"(?<!\w)(?:[A-Za-z]\.)+[A-Za-z]$")  # without its last dot


class Labelled(NamedTuple):
    """Tokens of a sentence with a label."""

    label: str
    first: int
    end: int
    score: float
    left_out: int = 0  # characters of the last token that do not belong to it


class Text(NamedTuple):
    """A text with its sentences, and each token's span in characters or in tokens.

    `number` is the number of its line in a file, and `opens` says whether a document
    (`newdoc`) or a paragraph (`newpar`) begins with it.
    """

    source: str | list[str]
    sentences: list[list[str]]
    spans: list[list[Span]]
    number: int = 1
    opens: str = "newdoc"

    def piece(self, begin: int, end: int) -> str:
        piece = self.source[begin:end]
        return piece if isinstance(piece, str) else " ".join(piece)

    def at(self, begin: int, end: int, **values: Any) -> dict[str, Any]:
        """The result of a pipeline for a piece of the text."""
        return {"text": self.piece(begin, end), **values, "start": begin, "end": end}

    def result(self, sentence: int, part: Labelled) -> dict[str, Any]:
        spans = self.spans[sentence]
        begin, end = spans[part.first][0], spans[part.end - 1][1]
        if part.left_out and isinstance(self.source, str):
            token = self.sentences[sentence][part.end - 1]
            ending = token[len(token) - part.left_out :]
            # The text may hold `ending` in another normal form.
            starts = range(end, begin, -1)
            end = next(
                i for i in starts if normalize("NFC", self.piece(i, end)) == ending
            )
        return self.at(begin, end, label=part.label, score=part.score)

    def entity(self, sentence: int, part: Labelled) -> dict[str, Any]:
        """The same as `result`, but an acronym keeps its last dot at a sentence's end."""
        result = self.result(sentence, part)
        begin, end = result["start"], result["end"]
        if _ACRONYM.search(result["text"]) and self.source[end : end + 1] == ".":
            return result | {"text": self.piece(begin, end + 1), "end": end + 1}
        return result


def read_text(index: int, value: Sentence, tokenizer: str = "words") -> Text:
    """A `str`, split into sentences and words; or the tokens of one sentence.

    Words are split as `split_words` does by a tokenizer, and composed (NFC), as models know them.
    `index` is named in errors.
    """
    value = plain(value)
    if not isinstance(value, str):
        (tokens,) = words_of_sentences([value], first=index)
        if isinstance(value, bytes):
            return read_text(index, value.decode(), tokenizer)
        token_spans = [(i, i + 1) for i in range(len(tokens))]
        return Text(tokens, [tokens] if tokens else [], [token_spans] if tokens else [])
    spans = list(sentence_words(value, tokenizer))
    words = [[normalize("NFC", value[a:b]) for a, b in row] for row in spans]
    return Text(value, words, spans)


def pieces(sentence: Sequence, size: int) -> Iterator[Sequence]:
    """A sentence in pieces of at most `size` tokens."""
    return (sentence[i : i + size] for i in range(0, len(sentence), size))


def join(parts: Sequence[Sequence]) -> list:
    return [item for part in parts for item in part]
