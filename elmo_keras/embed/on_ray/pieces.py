"""Divides a corpus into pieces, each the work of one part of the output."""

import hashlib
import json
from collections.abc import Iterator
from typing import NamedTuple

from elmo_keras.embed.on_ray.text_rows import TextRows

PIECE_BYTES = 2**18  # of text; the least work that is lost when a process ends


class Piece(NamedTuple):
    """Consecutive sentences that are embedded and written together.

    Attributes:
        number: number of the piece, from 0.
        first: number of its first sentence in the corpus, from 0.
        sentences: each the text in UTF-8, or the list of its tokens.
        ids: the ids of the user's, one for each sentence; or None.
        id_type: their type, `"int64"` or `"string"`; or None.
    """

    number: int
    first: int
    sentences: list[bytes | list[bytes]]
    ids: list[int | str] | None = None
    id_type: str | None = None

    @property
    def texts(self) -> list[bytes]:
        """The text of each sentence; tokens are joined by spaces."""
        return [
            sentence if isinstance(sentence, bytes) else b" ".join(sentence)
            for sentence in self.sentences
        ]

    @property
    def digest(self) -> str:
        """SHA-256 of the sentences, their ids and their place in the corpus."""
        about = [self.first, self.ids, [_lengths(s) for s in self.sentences]]
        digest = hashlib.sha256(json.dumps(about).encode())
        digest.update(b"\n".join(self.texts))
        return digest.hexdigest()


def pieces_of(rows: TextRows, piece_bytes: int = PIECE_BYTES) -> Iterator[Piece]:
    """Yields the pieces of a corpus, at least one; the same ones each time."""
    number = first = size = 0
    sentences, ids = [], []

    def piece():
        known_ids = None if rows.id_type is None else ids
        return Piece(number, first, sentences, known_ids, rows.id_type)

    for row in rows:
        sentences.append(row.sentence)
        ids.append(row.id)
        size += _size(row.sentence)
        if size >= piece_bytes:
            yield piece()
            number, first, size = number + 1, first + len(sentences), 0
            sentences, ids = [], []
    if sentences or not number:
        yield piece()


def _lengths(sentence):
    if isinstance(sentence, bytes):
        return len(sentence)
    return [len(token) for token in sentence]


def _size(sentence):
    """The bytes of a sentence, with one for the end of each token or of the line."""
    if isinstance(sentence, bytes):
        return len(sentence) + 1
    return sum(len(token) + 1 for token in sentence) + 1
