"""Word senses by nearest neighbour."""

import numpy as np
import pytest

from elmo_keras import Elmo, Embedder
from elmo_keras.analyses.senses import (
    Instance,
    MeanVectors,
    SenseInventory,
    UseVectors,
    read_semcor,
)
from tests.support.commands import command

main = command("senses")

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
def elmo(model_directory):
    return Elmo.from_pretrained(model_directory)


@pytest.fixture
def files(tmp_path):
    paths = tmp_path / "train.tsv", tmp_path / "test.tsv"
    for path, content in zip(paths, (TRAIN, TEST)):
        path.write_text(content, encoding="utf-8")
    return paths


def arguments(files, model, *more):
    return ["--train", str(files[0]), "--test", str(files[1]), "--model", model, *more]


def test_context_decides_and_words_that_training_lacks_back_off(
    files, model, capsys, cells
):
    bank_as_adjective = use("a bank shot", "bank", TURN, tag="JJ")
    only_sense = use("a plane turned", "plane", "plane%1:06:01::", lemma="plane")
    unknown = use("a quay burnt", "quay", "quay%1:06:00::", lemma="quay")
    files[0].write_text(TRAIN + only_sense)
    planes = only_sense.replace("a plane", "one plane") * 2
    files[1].write_text(TEST + bank_as_adjective + planes + unknown * 2)
    assert main(arguments(files, model)) == 0
    output = capsys.readouterr().out
    found = {name: list(map(float, row)) for name, *row in cells(output)[2:]}
    # Of the 8 uses, these are right: the plane's two, the adjective (through the verb),
    # and one or all of the three with several senses.
    assert found["first sense"] == found["layer 0"] == [50.0, 33.3]
    assert found["layer 1"] == found["layer 2"] == [75.0, 100]
    assert "of 37.5%, one of 25.0%; 37.5% back off; 25.0% of all have no" in output


@pytest.mark.slow
def test_the_vector_of_a_sense_is_the_mean_over_its_uses_in_any_batches(files, elmo):
    with files[0].open("a") as file:
        file.write("took_place\ttake_place\tVB\ttake_place%2:30:00::\n.\t_\t_\t_\n")
    sentences = read_semcor(files[0])
    inventory = SenseInventory(sentences)
    together, alone = (
        MeanVectors(Embedder(elmo, layers="all", **size), sentences, inventory).means
        for size in ({}, {"tokens_at_once": 10})
    )
    np.testing.assert_allclose(alone, together, atol=1e-6)
    texts = "the river bank fell", "one river bank rose", "took place . "
    layers = elmo.all_layers([text.split(" ") for text in texts]).numpy()
    expected = np.average(layers[:2, :, 2], axis=0, weights=[2, 1])
    i = inventory.id[("bank", "N"), SHORE]
    np.testing.assert_allclose(together[i], expected, atol=1e-6)
    i = inventory.id[("take_place", "V"), "take_place%2:30:00::"]
    expected = layers[2, :, :2].mean(axis=1)
    np.testing.assert_allclose(together[i], expected, atol=1e-6)


def test_the_nearest_uses_decide_by_their_cosines(files, elmo, model, capsys, cells):
    assert main(arguments(files, model, "--neighbors", "1")) == 0
    found = {
        name: list(map(float, row)) for name, *row in cells(capsys.readouterr().out)[2:]
    }
    assert found["layer 1"] == found["layer 2"] == [100.0, 100.0]
    sentences = read_semcor(files[0])
    inventory = SenseInventory(sentences)
    embedder = Embedder(elmo, layers="all")
    uses = UseVectors(embedder, sentences, inventory, 1)
    ids = np.array(inventory.sense_ids(("bank", "N")))
    vector = uses.uses[ids[1]][-1].astype("float32")  # a use that is known
    np.testing.assert_array_equal(uses.nearest(ids, vector)[1:], [ids[1]] * 2)


def test_columns_are_read_as_written(tmp_path):
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
        ("bank\tbank\tNN\tbank%1:17:01::;bank", "a sense key such as"),
    ],
)
def test_a_malformed_line_is_named(files, model, error_of, line, reason):
    with files[1].open("a") as file:
        file.write(line + "\n")
    error = error_of(main, arguments(files, model))
    assert f"{files[1]}:{TEST.count(chr(10)) + 1}: {reason}" in error


def test_a_file_without_senses_is_refused(files, model, error_of):
    files[0].write_text("the\tthe\tDT\t_\n")
    error = error_of(main, arguments(files, model))
    assert f"{files[0]} holds no word with a sense" in error


def test_semcor_has_the_counts_of_its_description(data):
    sentences = read_semcor(data("en_wsd/SemCor/semcor3.brown2.tsv"))
    assert sum(len(sentence.instances) for sentence in sentences) == 86_000
