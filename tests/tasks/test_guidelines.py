"""Trees that follow the guidelines of Universal Dependencies."""

import pytest

from elmo_keras.tasks import read_trees
from elmo_keras.tasks.guidelines import follow_guidelines


def tree(words, **columns):
    """A sentence of words, each `UPOS head relation`."""
    words = [word.split() for word in words.split(",")]
    upos, heads, relations = zip(*words)
    names = {"upos": upos, "head": map(int, heads), "deprel": relations}
    feats = {"feats": ["_"] * len(words), "lemma": [*"abcdefgh"[: len(words)]]}
    return {k: list(v) for k, v in {**names, **feats, **columns}.items()}


CASES = {
    "a relation takes some parts of speech": (
        tree("NOUN 2 det, NOUN 0 root, PUNCT 2 dep"),
        {"deprel": ["nmod", "root", "punct"]},
    ),
    "an expression has the part of speech that it stands for": (
        tree("ADP 2 advmod, VERB 0 root", feats=["ExtPos=ADV", "_"]),
        {"deprel": ["advmod", "root"]},
    ),
    "coordination goes to the right": (
        tree("NOUN 2 conj, NOUN 0 root"),
        {"deprel": ["dep", "root"]},
    ),
    "functional words have no dependents, in any depth": (
        tree("NOUN 2 nmod, DET 3 case, ADP 4 case, NOUN 0 root"),
        {"head": [4, 4, 4, 0], "deprel": ["nmod", "det", "case", "root"]},
    ),
    "a predicate has one subject and one object": (
        tree("NOUN 3 nsubj, PRON 3 nsubj:pass, VERB 0 root, PRON 3 obj, NOUN 3 obj"),
        {"deprel": ["nsubj:outer", "nsubj:pass", "root", "obj", "obl"]},
    ),
    "a nominal has no `obl`": (
        tree("VERB 0 root, NOUN 1 obj, NOUN 2 obl:tmod"),
        {"deprel": ["root", "obj", "nmod"]},
    ),
    "the second half of a word has nothing of its own": (
        tree("ADV 0 root, NOUN 1 goeswith", feats=["A=B|Z=Z", "C=D"]),
        {"upos": ["ADV", "X"], "lemma": ["a", "_"], "feats": ["A=B|Typo=Yes|Z=Z", "_"]},
    ),
    "halves of a word are neighbours": (
        tree("X 2 dep, ADV 0 root, X 2 dep, X 2 goeswith"),
        {"deprel": ["dep", "root", "dep", "flat"]},
    ),
    "no arc crosses that of punctuation": (
        tree("VERB 0 root, NOUN 1 obj, PUNCT 4 punct, ADV 1 advmod, PUNCT 2 punct"),
        {"head": [0, 1, 4, 1, 1]},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_tree_is_mended_once(name):
    sentence, changed = CASES[name]
    apart = [True] * len(sentence["head"])
    mended = follow_guidelines(sentence, apart)
    assert mended == sentence | changed
    assert follow_guidelines(mended, apart) == mended


def test_words_without_space_between_them_are_no_halves():
    sentence = CASES["the second half of a word has nothing of its own"][0]
    expected = sentence | {"deprel": ["root", "flat"]}
    assert follow_guidelines(sentence, [True, False]) == expected


def test_trees_of_a_treebank_that_follows_them_stay(data):
    for sentence in read_trees(data("en_ewt/en_ewt-ud-dev.conllu"))[::3]:
        mended = follow_guidelines(sentence, [True] * len(sentence["head"]))
        assert all(mended[name] == sentence[name] for name in ("head", "deprel"))
