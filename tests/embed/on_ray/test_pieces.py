"""Pieces of a corpus."""

import pytest

from elmo_keras.embed.on_ray.text_rows import Piece, TextRows, pieces_of

LINES = ["four", "", "five and more", "one", "ends"]


@pytest.fixture
def corpus(tmp_path):
    for name, lines in ("a.txt", LINES[:2]), ("b.txt", LINES[2:]):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return [tmp_path / "a.txt", tmp_path / "b.txt"]


def pieces(paths, size):
    return list(pieces_of(TextRows(paths), size))


def test_a_piece_ends_with_the_sentence_that_reaches_the_size(corpus):
    found = pieces(corpus, 6)
    texts = [[text.decode() for text in piece.texts] for piece in found]
    assert texts == [["four", ""], ["five and more"], ["one", "ends"]]
    assert [(piece.number, piece.first) for piece in found] == [(0, 0), (1, 2), (2, 3)]


def test_pieces_are_the_same_each_time_and_know_their_place(corpus):
    digests = [piece.digest for piece in pieces(corpus, 6)]
    assert digests == [piece.digest for piece in pieces(corpus, 6)]
    assert len(set(digests)) == 3
    corpus[0].write_text("four\n\n\n")  # one line more moves all that follow
    assert pieces(corpus, 6)[1].digest != digests[1]


def test_no_sentences_are_one_empty_piece(tmp_path):
    (tmp_path / "empty.txt").write_text("")
    (piece,) = pieces([tmp_path / "empty.txt"], 6)
    assert piece.sentences == [] and piece.number == 0


@pytest.mark.parametrize(
    "other",
    [
        {"sentences": [b"a b", b"c"]},
        {"sentences": [b"a", b"b\nc"]},
        {"sentences": [[b"a"], b"b", b"c"]},
        {"first": 1},
        {"ids": ["x", "y", "z"]},
    ],
)
def test_another_piece_has_another_digest(other):
    piece = Piece(0, 0, [b"a", b"b", b"c"])
    assert piece._replace(**other).digest != piece.digest
    assert piece._replace(number=1).digest == piece.digest


def test_tokens_are_joined_to_texts():
    piece = Piece(0, 0, [[b"New York", b"."], b"as it is"])
    assert piece.texts == [b"New York .", b"as it is"]
