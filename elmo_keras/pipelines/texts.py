"""Texts in sentences and tokens, with the places of these in what was given."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from elmo_keras.text.sentence_splitter import sentence_spans
from elmo_keras.text.sentences import Sentence, plain, words_of_sentences
from elmo_keras.text.tokenizers import Span, word_spans


class Labelled(NamedTuple):
    """Tokens of a sentence with a label."""

    label: str
    first: int
    end: int
    score: float


class Text(NamedTuple):
    """A text with its sentences; of each token the span in characters, or in tokens."""

    source: str | list[str]
    sentences: list[list[str]]
    spans: list[list[Span]]

    def piece(self, begin: int, end: int) -> str:
        piece = self.source[begin:end]
        return piece if isinstance(piece, str) else " ".join(piece)

    def result(self, sentence: int, part: Labelled) -> dict[str, Any]:
        """What a pipeline returns for labelled tokens."""
        spans = self.spans[sentence]
        begin, end = spans[part.first][0], spans[part.end - 1][1]
        return {
            "text": self.piece(begin, end),
            "label": part.label,
            "score": part.score,
            "start": begin,
            "end": end,
        }


def read_text(value: Sentence) -> Text:
    """A `str`, split into sentences and words; or the tokens of one sentence."""
    value = plain(value)
    if isinstance(value, bytes):
        value = value.decode()
    if not isinstance(value, str):
        (tokens,) = words_of_sentences([value])
        places = [(i, i + 1) for i in range(len(tokens))]
        return Text(tokens, [tokens] if tokens else [], [places] if tokens else [])
    sentences, spans = [], []
    for begin, end in sentence_spans(value):
        sentence = value[begin:end]
        places = word_spans(sentence)
        if places:
            sentences.append([sentence[a:b] for a, b in places])
            spans.append([(begin + a, begin + b) for a, b in places])
    return Text(value, sentences, spans)


def script_is(text: Text, language: str) -> bool:
    """Whether at least half of a text's first letters are of its language's script."""
    sample = "".join(map(str, text.source[:500]))[:2000]
    letters = [c for c in sample if c.isalpha()]
    low, high = SCRIPTS[language]
    return 2 * sum(low <= c <= high for c in letters) >= len(letters)


SCRIPTS = {"en": ("A", "\u024f"), "ko": ("\uac00", "\ud7a3")}


def join(parts: Sequence[Sequence]) -> list:
    return [item for part in parts for item in part]
