"""The programs of `examples/`; the examples of the pages, with other sentences too."""

import re
import runpy

import pytest

from tests.support.paths import ROOT


@pytest.fixture
def program(monkeypatch, capsys):
    """Runs a program of `examples/`; returns what it printed."""

    def run(name, *arguments):
        monkeypatch.setattr("sys.argv", [name, *map(str, arguments)])
        capsys.readouterr()
        runpy.run_path(str(ROOT / f"examples/{name}.py"), run_name="__main__")
        return capsys.readouterr().out

    return run


SHORE, MONEY, TURN = "bank%1:17:01::", "bank%1:14:00::", "bank%2:38:00::"


def use(words, target, sense, tag="NN"):
    """The lines of a sentence in which one word has a sense."""
    lines = [
        "\t".join((w, target, tag, sense) if w == target else (w, w, "DT", "_"))
        for w in words.split()
    ]
    return "\n".join(lines) + "\n\n"


def test_senses_follow_context_or_the_first(program, model_directory, tmp_path, cells):
    files = {
        "train": "# a comment\n"
        + use("the money bank fell", "bank", MONEY) * 3
        + use("one money bank rose", "bank", MONEY)
        + use("the river bank fell", "bank", SHORE) * 2
        + use("one river bank rose", "bank", SHORE)
        + use("planes bank low", "bank", TURN, tag="VBP") * 9
        + use("a flying_machine turned", "flying_machine", "plane%1:06:01::"),
        "test": use("the river bank rose", "bank", SHORE)
        + use("one river bank fell", "bank", f"{SHORE};1:14:09::")
        + use("the money bank rose", "bank", MONEY)
        + use("a bank shot", "bank", TURN, tag="JJ")  # the lemma's first sense
        + use("one flying_machine turned", "flying_machine", "plane%1:06:01::") * 2
        + use("a quay burnt", "quay", "quay%1:06:00::") * 2,
    }
    arguments = ["--model", model_directory, "--neighbors", "1"]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        arguments += [f"--{name}", tmp_path / name]
    output = program("senses", *arguments)
    scores = {name: list(map(float, row)) for name, *row in cells(output)[2:]}
    # Of the 8 uses, these are right: the machine's two, the adjective, and one or all of
    # the three with several senses.
    assert scores["first sense"] == scores["layer 0"] == [50.0, 33.3]
    assert scores["layer 1"] == scores["layer 2"] == [75.0, 100.0]
    assert "of 37.5%, one of 25.0%; 37.5% back off; 25.0% of all have no" in output
    with (tmp_path / "test").open("a") as file:
        file.write("a\tb\tc\n")
    with pytest.raises(ValueError, match="test:36 has not the four columns"):
        program("senses", *arguments)


def test_neighbors_are_words_and_similar_uses(program, model_directory, tmp_path):
    sentences = "they play the game\na play by a poet\nwe play the game\n"
    (tmp_path / "text.txt").write_text(f"{sentences}one play by one poet")
    options = "--model", model_directory, "--words", "play", "--top", "2"
    output = program("neighbors", tmp_path / "text.txt", *options)
    [shown] = re.findall(r"^play: (.*)$", output, re.M)
    words = re.findall(r"(\S+) (-?\d\.\d{3})", shown)
    assert len(words) == 2 and "play" not in dict(words)
    assert float(words[0][1]) >= float(words[1][1])
    lines = output.splitlines()
    verb = lines.index("  Nearest to they [play] the game")
    assert lines[verb + 1].endswith("we [play] the game")
    [noun] = [i for i in range(verb + 1, len(lines)) if "Nearest to" in lines[i]]
    assert "by" in lines[noun] and "by" in lines[noun + 1]
