"""Parsers read text together, for another one to learn from."""

import functools

import numpy as np
import pytest

from elmo_keras import pipeline
from elmo_keras.heads.parser.readers import read_trees
from tests.support.heads import make_head
from tools.silver import JointParser, write_silver

pytestmark = pytest.mark.usefixtures("eagerly")
SENTENCES = [["The", "bank", "of", "Ann"], ["Ann", "saw", "the", "bank", "."]]


@pytest.fixture
def parser(model_directory, made_once):
    make = functools.partial(make_head, "ud", model_directory, elmo_at="input")
    return pipeline(made_once("heads/silver", make) / "ud")


def test_a_parser_twice_finds_its_own_trees(parser):
    batch = parser.batch(SENTENCES)
    joint = JointParser([parser.model, parser.model])
    alone, together = parser.model.scores(batch), joint.scores(batch)
    np.testing.assert_allclose(together["root"], alone["root"])
    trees, expected = (
        parser.model.decoder.trees(scores, SENTENCES) for scores in (together, alone)
    )
    for tree, other in zip(trees, expected, strict=True):
        np.testing.assert_allclose(tree.pop("score"), other.pop("score"), rtol=1e-5)
        assert tree == other


def test_parsers_of_other_labels_are_refused(parser):
    other = pipeline(parser.folder)
    other.model.decoder.relations = ["flat"]
    with pytest.raises(ValueError, match="same relations"):
        JointParser([parser.model, other.model])


def test_a_treebank_and_the_trees_of_texts_are_written(parser, tmp_path):
    treebank, target = tmp_path / "gold.conllu", tmp_path / "all.conllu"
    gold = "1\tIt\tit\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\trains\train\tVERB\t_\t_\t0\troot\t_\t_"
    treebank.write_text(f"{gold}\n\n")
    texts = ["Ann saw the bank.", "Ann ."]  # the second one is short
    write_silver([parser], texts, treebank, target, copies=2)
    *copies, predicted = read_trees(target)
    assert copies == read_trees(treebank) * 2
    assert predicted["tokens"] == SENTENCES[1]
    assert predicted["lemma"] == [None] * 5 and predicted["head"].count(0) == 1
