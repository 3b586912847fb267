"""Sentences of running text."""

import time

import pytest

from elmo_keras.text.sentence_splitter import LONGEST, sentence_spans


def split(text):
    return [text[begin:end] for begin, end in sentence_spans(text)]


@pytest.mark.parametrize(
    "marked",  # with | after each sentence but the last
    [
        "It rains.| It pours!",
        '"Why?" he asked.| He left.',
        'He said "No."| (Then left.)| 3 came.',
        "Dr. Kim of the U.S. Army met J. Lee.",
        "He said no.| You too.",
        "So I.| Then he.",
        "At 7.5 p.m. it ended... or not.",
        "A title|\n\nA text\nof lines.",
        "At 5 p.m. Friday, No. 5 won.| At 6 p.m.| He left.",
        "W.H.S. Koerner and J.M. Huber (ext. 37625) met.",
        "P.S. I came at 10 a.m. (CDT) from Acme Inc.| The end.",
        "well.. so what??| i left!!| ok.| bye",
        "The end.|Then more!",
        "See node.js or a.b.C at Amazon.com.",
        "1. Apples and pears.| 2. More.",
        "Dear Mr. Kim,| Thanks for it :)| Bye",
        "Things to buy|\n- Apples|\n- Pears and more|\nThe rest",
        "This is a long line of text which was wrapped at\nKorea and goes on.",
        "2020. 11. 22. 서울에서 만났다.| 그는 갔다.",
        "정말 좋아요.|그런데 비싸요!!|또 가요",
        "정말 맛있어요| 또 갈게요| 추천합니다 라고 했다",
        "그는 갔다고 했다| 비가 왔다 한다| 맛이 있다| 찾아줘| 최고예요~| 뭐야",
        "멋진 곳입니다 ㅅㅅ| 좋아요ㅋㅋ| 길이 막혀| 연 곳 있니| 줄 없음| 필요 없음이라 했다",
        "그는 갔다.| 비가 왔다!| 정말?",
        "彼は来た。|雨だ。",
        " \n\t ",
        "",
    ],
)
def test_sentences_end_where_a_reader_ends_them(marked):
    sentences = [sentence.strip() for sentence in marked.split("|")]
    assert split(marked.replace("|", "")) == [*filter(None, sentences)]


def test_long_sentences_are_cut_at_spaces():
    pieces = split("word " * 2000)
    assert all(len(piece) <= LONGEST for piece in pieces)
    assert " ".join(pieces).split() == ["word"] * 2000
    assert [len(piece) for piece in split("x" * (LONGEST + 5))] == [LONGEST, 5]
    assert " ".join(split("words\n" * 2000)).split() == ["words"] * 2000


PIECES = ".|\n|. |'|.'|。| |a. |1. |A\n|Dear A|http://|요 |- |-".split("|")


@pytest.mark.parametrize("piece", PIECES)
def test_the_time_is_linear(piece):
    text, begin = piece * (10**5 // len(piece)), time.process_time()
    assert "".join(split(text)).count(".") == text.count(".")
    assert time.process_time() - begin < 2  # quadratic: more
