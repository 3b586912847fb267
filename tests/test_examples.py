"""The programs of `examples/`; the examples of the pages, with other sentences too."""

import functools
import re
import runpy

import numpy as np
import pytest

from elmo_keras import Embedder, LanguageModel
from tests.support.paths import ROOT

# Ten uses in each of two senses.
USES = {
    ("en", "left"): (
        """
        She left the room without a word .
        They left the city before the war .
        He left school at the age of fifteen .
        The last train left at midnight .
        We left the house early in the morning .
        My brother left home to join the army .
        The ship left the harbour in the evening .
        She left her husband after ten years .
        The players left the field when it began to rain .
        He left for Paris the next day .
        """,
        """
        He raised his left hand .
        The house is on the left side of the street .
        She broke her left arm in the fall .
        Turn to the left at the church .
        He was blind in his left eye .
        They drive on the left side of the road .
        The left wing of the building burned down .
        The pain in my left leg is gone .
        She wore the ring on her left hand .
        A door on the left leads to the garden .
        """,
    ),
    ("ko", "전기를"): (
        """
        발전소에서 전기를 생산한다 .
        이 댐은 마을에 전기를 공급한다 .
        태양 전지는 빛으로 전기를 만든다 .
        공장은 밤에도 전기를 많이 쓴다 .
        구리는 전기를 잘 통한다 .
        여름에는 냉방에 전기를 많이 사용한다 .
        바람을 이용하여 전기를 얻는다 .
        태풍으로 수천 가구가 전기를 쓰지 못했다 .
        섬에서는 디젤 발전기로 전기를 만들었다 .
        이 자동차는 휘발유와 전기를 함께 사용한다 .
        """,
        """
        그는 링컨의 전기를 썼다 .
        그녀는 아버지의 전기를 출판하였다 .
        어린 시절 위인들의 전기를 즐겨 읽었다 .
        그의 제자가 스승의 전기를 남겼다 .
        작가는 나폴레옹의 전기를 집필하였다 .
        그는 베토벤의 전기를 바탕으로 영화를 만들었다 .
        역사가는 왕의 전기를 기록하였다 .
        그녀는 화가의 전기를 번역하였다 .
        기자는 대통령의 전기를 펴냈다 .
        아들은 어머니의 전기를 완성하였다 .
        """,
    ),
}
BANKS = """
She sat on the bank of the river .
They walked along the bank of the lake .
The village lies on the north bank of the river .
Trees grow along the bank of the stream .
The boat was tied to the bank .
He swam to the other bank .
The army camped on the western bank of the Rhine .
We fished from the bank all day .
The river rose above its bank after the storm .
A path follows the left bank of the canal .
"""


@functools.cache
def embedder(model: str) -> Embedder:
    return Embedder(model, layers="top")


def split(uses: str) -> list[list[str]]:
    return [line.split() for line in uses.strip().splitlines()]


@pytest.mark.parametrize(("model", "word"), USES)
def test_the_nearest_use_has_the_same_sense(model, word):
    sentences = [tokens for uses in USES[model, word] for tokens in split(uses)]
    vectors = embedder(model).encode(sentences, normalize=True)
    uses = np.stack([v[t.index(word)] for v, t in zip(vectors, sentences)])
    cosines = uses @ uses.T - 2 * np.eye(20)  # no use is its own neighbour
    senses = np.repeat([0, 1], 10)
    assert (senses[cosines.argmax(axis=1)] == senses).sum() >= 19


def test_substitutes_for_the_bank_of_a_river_are_places():
    model = LanguageModel.from_pretrained("en")
    places = {"side", "edge", "coast", "shore", "end"}
    n_right = 0
    for tokens in split(BANKS):
        substitutes = model.substitutes(tokens, position=tokens.index("bank"), top=5)
        n_right += not places.isdisjoint(word for word, _ in substitutes)
    assert n_right >= 7


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


@pytest.mark.parametrize("more", [[], ["--neighbors", "1"]])
def test_senses_are_decided_by_context_or_else_by_the_first_sense(
    program, model_directory, tmp_path, cells, more
):
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
    arguments = ["--model", model_directory, *more]
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


def test_neighbors_are_words_by_themselves_and_uses_in_similar_contexts(
    program, model_directory, tmp_path
):
    sentences = (
        "they play the game",
        "a play by a poet",
        "we play the game",
        "one play by one poet",
    )
    (tmp_path / "text.txt").write_text("\n".join(sentences))
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
