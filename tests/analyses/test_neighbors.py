"""Neighbours of words and of their uses."""

import re

import pytest

from tests.support.commands import command

main = command("neighbors")

SENTENCES = [
    "they play the game",
    "a play by a poet",
    "we play the game",
    "one play by one poet",
    "playing is fun",
]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(SENTENCES), encoding="utf-8")
    return path


def test_uses_in_similar_contexts_are_nearest_and_words_are_listed(text, model, capsys):
    command = [str(text), "--model", model, "--words", "play", "game", "--top", "2"]
    assert main(command) == 0
    output = capsys.readouterr().out
    by_words = re.findall(r"^(\w+): (.*)$", output, re.M)
    assert [word for word, _ in by_words] == ["play", "game"]
    for word, shown in by_words:
        found = re.findall(r"(\S+) (-?\d\.\d{3})", shown)
        assert len(found) == 2 and word not in dict(found)
        assert float(found[0][1]) >= float(found[1][1])
    lines = output.splitlines()
    first = lines.index("  Nearest to they [play] the game")
    assert lines[first + 1].endswith("we [play] the game")
    nouns = [i for i in range(first + 1, len(lines)) if "Nearest to" in lines[i]]
    assert "by" in lines[nouns[0]] and "by" in lines[nouns[0] + 1]


def test_a_word_needs_two_uses_to_compare_and_a_text_utf8(text, model, error_of):
    command = [text, "--model", model, "--words"]
    for word, count in (("fun", 1), ("absent", 0)):
        error = error_of(main, [*command, word])
        assert f"{word} occurs {count} times in {text}" in error
    text.write_bytes(b"play\nb\xff\n")
    error = error_of(main, [*command, "play"])
    assert f"{text} should be UTF-8. Line 2" in error
