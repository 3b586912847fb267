"""Sentences of running text."""

import pytest

from elmo_keras.text.sentence_splitter import LONGEST, sentence_spans


def split(text):
    return [text[begin:end] for begin, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rains. It pours!", ["It rains.", "It pours!"]),
        ('"Why?" he asked. He left.', ['"Why?" he asked.', "He left."]),
        (
            'He said "No." (Then left.) 3 came.',
            ['He said "No."', "(Then left.)", "3 came."],
        ),
        (
            "Dr. Kim of the U.S. Army met J. Lee.",
            ["Dr. Kim of the U.S. Army met J. Lee."],
        ),
        ("He said no. You too.", ["He said no.", "You too."]),
        ("So I. Then he.", ["So I.", "Then he."]),
        ("At 7.5 p.m. it ended... or not.", ["At 7.5 p.m. it ended... or not."]),
        ("A title\n\nA text\nof lines.", ["A title", "A text\nof lines."]),
        ("그는 갔다. 비가 왔다! 정말?", ["그는 갔다.", "비가 왔다!", "정말?"]),
        ("彼は来た。雨だ。", ["彼は来た。", "雨だ。"]),
        (" \n\t ", []),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text, sentences):
    assert split(text) == sentences


def test_long_sentences_are_cut_at_spaces():
    pieces = split("word " * 2000)
    assert all(len(piece) <= LONGEST for piece in pieces)
    assert " ".join(pieces).split() == ["word"] * 2000
    assert [len(piece) for piece in split("x" * (LONGEST + 5))] == [LONGEST, 5]
    assert " ".join(split("words\n" * 2000)).split() == ["words"] * 2000


@pytest.mark.parametrize("piece", [".", "\n", ". ", "'", ".'", "。", " ", "a. "])
def test_a_million_signs_take_no_time(piece):
    text = piece * (10**6 // len(piece))
    assert "".join(split(text)).count(".") == text.count(".")
