"""Word senses by nearest neighbour."""

import numpy as np
import pytest
from conftest import randomize

from elmo_keras import BidirectionalLanguageModel, Elmo, ElmoConfig
from elmo_keras.model_directory import save_model
from elmo_keras.tasks import senses
from elmo_keras.tasks.analyses.sense_vectors import (
    SenseInventory,
    average_senses,
    nearest_senses,
)
from elmo_keras.tasks.experiments import sentence_layers
from elmo_keras.tasks.readers.semcor import Instance, read_semcor

SHORE, MONEY = "bank%1:17:01::", "bank%1:14:00::"
TURN = "bank%2:38:00::"


def use(words, target, sense, lemma="bank", tag="NN"):
    """The lines of a sentence in which one word has a sense."""
    lines = [
        "\t".join((w, lemma, tag, sense) if w == target else (w, w, "DT", "_"))
        for w in words.split()
    ]
    return "\n".join(lines) + "\n\n"


TRAIN = (
    "# a comment\n"
    + use("the money bank fell", "bank", MONEY) * 3
    + use("one money bank rose", "bank", MONEY)
    + use("the river bank fell", "bank", SHORE) * 2
    + use("one river bank rose", "bank", SHORE)
    + use("planes bank low", "bank", TURN, tag="VBP") * 9
)
TEST = (
    use("the river bank rose", "bank", SHORE)
    + use("one river bank fell", "bank", SHORE)
    + use("the money bank rose", "bank", MONEY)
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    bilm = BidirectionalLanguageModel(ElmoConfig.preset("test"))
    bilm.build()
    folder = tmp_path_factory.mktemp("model")
    save_model(folder, randomize(bilm, seed=3))
    return str(folder)


@pytest.fixture
def files(tmp_path):
    paths = tmp_path / "train.tsv", tmp_path / "test.tsv"
    for path, content in zip(paths, (TRAIN, TEST)):
        path.write_text(content, encoding="utf-8")
    return paths


def command(files, model, *more):
    return ["--train", str(files[0]), "--test", str(files[1]), "--elmo", model, *more]


def scores(output):
    """The two numbers of each row of the table."""
    rows = [line.strip("| ").split("|") for line in output.splitlines() if "|" in line]
    return {name.strip(): [float(x) for x in row] for name, *row in rows[2:]}


def test_context_decides_where_the_word_alone_can_not(files, model, capsys):
    assert senses.main(command(files, model)) == 0
    found = scores(capsys.readouterr().out)
    assert found["first sense"] == found["layer 0"] == [33.3, 33.3]
    assert found["layer 1"] == found["layer 2"] == [100, 100]


def test_what_training_lacks_backs_off_and_is_counted(files, model, capsys):
    bank_as_adjective = use("a bank shot", "bank", TURN, tag="JJ")
    only_sense = use("a plane turned", "plane", "plane%1:06:01::", lemma="plane")
    unknown = use("a quay burnt", "quay", "quay%1:06:00::", lemma="quay")
    files[0].write_text(TRAIN + only_sense)
    files[1].write_text(
        TEST + bank_as_adjective + only_sense.replace("a plane", "one plane") * 2
    )
    with files[1].open("a") as file:
        file.write(unknown * 2)
    assert senses.main(command(files, model)) == 0
    output = capsys.readouterr().out
    # Of the 8 uses, the plane's two, and the adjective by way of the verb.
    assert scores(output)["first sense"] == [50.0, 33.3]
    assert scores(output)["layer 2"] == [75.0, 100]
    assert "of 37.5%, one of 25.0%; 37.5% back off, 25.0% of all without" in output


def test_an_instance_of_several_tokens_has_their_mean_vector(model, tmp_path):
    path = tmp_path / "senses.tsv"
    path.write_text("took_place\ttake_place\tVB\ttake_place%2:30:00::\n.\t_\t_\t_\n")
    (sentence,) = read_semcor(path)
    elmo = Elmo.from_pretrained(model)
    inventory = SenseInventory([sentence])
    vectors = average_senses(elmo, [sentence], inventory)
    layers = elmo.layers([["took", "place", "."]])[0].numpy()
    np.testing.assert_allclose(vectors[0], layers[:, :2].mean(axis=1), atol=1e-6)


def test_the_vector_of_a_sense_is_the_mean_over_its_uses_in_any_batches(
    files, model, monkeypatch
):
    sentences, elmo = read_semcor(files[0]), Elmo.from_pretrained(model)
    inventory = SenseInventory(sentences)
    together = average_senses(elmo, sentences, inventory)
    monkeypatch.setattr(sentence_layers, "TOKENS_AT_ONCE", 10)
    alone = average_senses(elmo, sentences, inventory)
    np.testing.assert_allclose(alone, together, atol=1e-6)
    layers = elmo.layers(
        [["the", "river", "bank", "fell"], ["one", "river", "bank", "rose"]]
    )
    expected = np.average(layers[:, :, 2], axis=0, weights=[2, 1])
    i = inventory.number[("bank", "N"), SHORE]
    np.testing.assert_allclose(together[i], expected, atol=1e-6)
    found = nearest_senses(elmo, read_semcor(files[1]), inventory, alone)
    assert [inventory.senses[i][1] for i in found[:, 1]] == [SHORE, SHORE, MONEY]


def test_columns_are_read_as_they_stand(tmp_path):
    path = tmp_path / "senses.tsv"
    path.write_text(
        "# s1\nFulton_County\tgroup\tNNP\tgroup%1:03:00::\n#\t#\tNN\t_\n_\t_\t_\t_\r\n"
        "\n\n# s2\nplays\tplay\tNN\tplay%1:04:05::;1:04:04::\n"
    )
    first, second = read_semcor(path)
    assert first.tokens == ["Fulton", "County", "#", "_"]
    assert first.instances == [Instance(0, 2, ("group", "N"), ("group%1:03:00::",))]
    assert second.instances[0].senses == ("play%1:04:05::", "play%1:04:04::")
    assert len(read_semcor(path, limit=1)) == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a\tb\tc", "word, lemma, part of speech"),
        ("a\t\tNN\t_", "word, lemma, part of speech"),
        ("bank\tbank\tNN\tbank", "a sense key such as"),
        ("bank\tbank\tNN\tbank%1:17:01::;bank", "a sense key such as"),
    ],
)
def test_a_malformed_line_is_named(files, model, capsys, line, reason):
    with files[1].open("a") as file:
        file.write(line + "\n")
    assert senses.main(command(files, model)) == 2
    error = capsys.readouterr().err
    assert f"{files[1]}:{TEST.count(chr(10)) + 1}: {reason}" in error
    assert error.count("\n") == 1


def test_a_file_without_senses_is_refused(files, model, capsys):
    files[0].write_text("the\tthe\tDT\t_\n")
    assert senses.main(command(files, model)) == 2
    assert f"{files[0]} holds no word with a sense" in capsys.readouterr().err


def test_semcor_is_read_as_its_description_counts_it(data):
    sentences = read_semcor(data("en_wsd/SemCor/semcor3.brown2.tsv"))
    assert sum(len(sentence.instances) for sentence in sentences) == 86_000
