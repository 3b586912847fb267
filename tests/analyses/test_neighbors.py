"""Neighbours of words and of their uses."""

import re

import pytest
from conftest import randomize

from elmo_keras import BidirectionalLanguageModel, ElmoConfig
from elmo_keras.model_directory import save_model
from elmo_keras.tasks import neighbors

SENTENCES = [
    "they play the game",
    "a play by a poet",
    "we play the game",
    "one play by one poet",
    "playing is fun",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    bilm = BidirectionalLanguageModel(ElmoConfig.preset("test"))
    bilm.build()
    folder = tmp_path_factory.mktemp("model")
    save_model(folder, randomize(bilm, seed=3))
    return str(folder)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(SENTENCES), encoding="utf-8")
    return path


def test_uses_in_like_contexts_are_nearest_and_words_are_listed(text, model, capsys):
    command = [str(text), "--elmo", model, "--words", "play", "game", "--top", "2"]
    assert neighbors.main(command) == 0
    output = capsys.readouterr().out
    by_words = re.findall(r"^(\w+): (.*)$", output, re.M)
    assert [word for word, _ in by_words] == ["play", "game"]
    for word, told in by_words:
        found = re.findall(r"(\S+) (-?\d\.\d{3})", told)
        assert len(found) == 2 and word not in dict(found)
        assert float(found[0][1]) >= float(found[1][1])
    lines = output.splitlines()
    first = lines.index("  Nearest to they [play] the game")
    assert lines[first + 1].endswith("we [play] the game")
    nouns = [i for i in range(first + 1, len(lines)) if "Nearest to" in lines[i]]
    assert "by" in lines[nouns[0]] and "by" in lines[nouns[0] + 1]


def test_a_word_with_one_use_has_none_to_compare(text, model, capsys):
    for word, count in (("fun", 1), ("absent", 0)):
        assert neighbors.main([str(text), "--elmo", model, "--words", word]) == 2
        error = capsys.readouterr().err
        assert f"{word} stands in {text} {count} times" in error
        assert error.count("\n") == 1


def test_a_line_that_is_not_utf8_is_named(text, model, capsys):
    text.write_bytes(b"play\nb\xff\n")
    assert neighbors.main([str(text), "--elmo", model, "--words", "play"]) == 2
    assert f"{text} should be UTF-8. Line 2" in capsys.readouterr().err
