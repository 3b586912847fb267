"""Divides a corpus into pieces, each the work of one part of the output."""

import hashlib
import json
from collections.abc import Iterator
from typing import NamedTuple

from elmo_keras.embed.on_ray.text_rows import TextRows

# The least text whose work is lost when a process ends. Words are not computed again
# for it: a worker keeps their vectors from one piece to the next, see `array_parts`.
PIECE_BYTES = 2**18


class Piece(NamedTuple):
    """Consecutive sentences that are embedded and written together."""

    number: int
    first: int  # number of its first sentence in the corpus, from 0
    sentences: list[bytes | list[bytes]]  # texts in UTF-8, or lists of tokens
    ids: list[int | str] | None = None  # of the user's
    id_type: str | None = None  # "int64" or "string"

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

    for sentence, own_id in rows:
        sentences.append(sentence)
        ids.append(own_id)
        # With one for the end of each token or of the line.
        lengths = _lengths(sentence)
        size += 1 + (
            lengths if isinstance(lengths, int) else sum(lengths) + len(lengths)
        )
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
