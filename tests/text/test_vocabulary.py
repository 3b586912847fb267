"""The word vocabulary."""

import pytest

from elmo_keras import Vocabulary
from elmo_keras.text import vocabulary

SENTENCES = [["b", "a", "<UNK>"], ["c", "a", "한글"], ["b", "a"]]


def test_words_are_sorted_by_frequency_then_by_code_point():
    vocabulary = Vocabulary.count(SENTENCES)
    assert vocabulary.words == ("<S>", "</S>", "<UNK>", "a", "b", "c", "한글")
    for sentences in ([["x", "y"]], [["y", "x"]]):
        assert Vocabulary.count(sentences).words[3:] == ("x", "y")
    assert vocabulary.encode(["a", "z", "</S>"]).tolist() == [3, 2, 1]
    assert "a" in vocabulary and "z" not in vocabulary and len(vocabulary) == 7


def test_size_and_count_limit_the_words():
    assert Vocabulary.count(SENTENCES, max_size=4).words[3:] == ("a",)
    assert Vocabulary.count(SENTENCES, min_count=2).words[3:] == ("a", "b")
    with pytest.raises(ValueError, match="`max_size` should be an integer from 3"):
        Vocabulary.count(SENTENCES, max_size=2)


@pytest.mark.parametrize("tokens", [None, 3, "abc", [b"a"], [None], [["a"]]])
def test_tokens_that_are_no_str_are_refused_and_not_unknown(tokens):
    for read in Vocabulary, Vocabulary.count([]).encode:
        with pytest.raises(TypeError, match="Tokens should be a list of str. Received"):
            read(tokens)


def test_the_special_words_of_a_published_file_keep_their_ids(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("</S>\n<S>\nthe\n<UNK>\nof\n")
    vocabulary = Vocabulary.load(path)
    assert vocabulary.special == (1, 0, 3) and vocabulary.unknown == 3
    tokens = ["<S>", "of", "unseen", "</S>"]
    assert vocabulary.encode(tokens).tolist() == [1, 4, 3, 0]
    vocabulary.save(tmp_path / "saved.txt")
    assert (tmp_path / "saved.txt").read_bytes() == path.read_bytes()


def test_a_file_round_trip_keeps_every_word(tmp_path):
    path = tmp_path / "vocab.txt"
    vocabulary = Vocabulary.count([*SENTENCES, ["d\u2028e", "\u00a0"]])
    vocabulary.save(path)
    assert Vocabulary.load(path).words == vocabulary.words
    lines = path.read_bytes().replace(b"\n", b"\r\n").removesuffix(b"\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + lines)  # a byte order mark
    assert Vocabulary.load(path).words == vocabulary.words


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\n", "hold <S>, </S>, <UNK>. Missing: <S>, </S>, <UNK>. Received 2"),
        (b"<S>\n</S>\n<UNK>\na b\n", "Received: 'a b' in line 4"),
        (b"<S>\n</S>\n<UNK>\n\xff\n", "UTF-8. Line 4: byte 0xff"),
    ],
)
def test_a_bad_file_is_refused_with_its_name_and_line(tmp_path, content, message):
    path = tmp_path / "vocab.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="vocab.txt: .*" + message):
        Vocabulary.load(path)


def test_ids_are_those_of_bilm_tf_with_a_warning(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes(b"<S>\n</S>\n<UNK>\n!!!MAXTERMID\na\n\n b \na\nc\n\n")
    with pytest.warns(UserWarning, match="2 empty lines and 1 words that occur again"):
        vocabulary = Vocabulary.load(path)
    assert vocabulary.words == ("<S>", "</S>", "<UNK>", "a", "", "b", "a", "c", "")
    assert vocabulary.encode(["a", "b", "c", "!!!MAXTERMID"]).tolist() == [6, 5, 7, 2]


def test_an_endless_file_is_refused(monkeypatch):
    monkeypatch.setattr(vocabulary, "MAX_VOCABULARY", 1000)
    with pytest.raises(ValueError, match="/dev/zero should have at most 1,000 bytes"):
        Vocabulary.load("/dev/zero")
