"""A parser in NumPy gives the trees of its task model."""

import numpy as np
import pytest

from elmo_keras import Embedder, pipeline
from elmo_keras.pipelines import light_networks
from elmo_keras.pipelines.light_heads import Batch
from elmo_keras.pipelines.light_networks import LightParser
from elmo_keras.tasks.head_files import keras_model, read_head
from elmo_keras.tasks.trees import encode_tree
from elmo_keras.text.tokens import padded_tokens
from tests.support.heads import make_head

SENTENCES = ["The bank of the river .".split(), ["Ann"], [], "money in a bank".split()]
ATOL = 0.02  # of scores up to about 1, by products in int8


@pytest.mark.parametrize("elmo_at", ["input", "both"])
def test_trees_have_the_highest_scores_of_the_task_model(
    elmo_at, model_directory, tmp_path
):
    read = read_head(make_head("ud", model_directory, tmp_path, elmo_at))
    layers = Embedder(model_directory, layers="all").encode(SENTENCES)
    light, model = LightParser(read), keras_model(read)
    inputs = {"tokens": padded_tokens(SENTENCES)}
    outputs = model(inputs)
    best = model.decode(inputs, outputs).numpy()
    arcs = model._arc_scores(inputs["tokens"], outputs).numpy()
    found = light.parse(Batch(SENTENCES, layers))
    assert found[2]["head"] == []
    # Rules of lemmas can't be read from lemmas.
    names = {k: v for k, v in light.columns.items() if k != "lemma"}
    for i in (0, 1, 3):
        words = np.arange(len(SENTENCES[i]))
        row = {name: x[i : i + 1, : len(words)] for name, x in outputs.items()}
        rows = encode_tree(found[i], light.relations, names)
        total = arcs[i, words, rows[:, 0]].sum()
        assert total >= arcs[i, words, best[i, words, 0]].sum() - len(words) * ATOL
        [relations] = model._relation_scores(row, rows[None, :, 0]).numpy()
        chosen = rows[:, 0] > 0
        check_best(relations[chosen], rows[chosen, 1])
        for column, name in enumerate(names, 2):
            check_best(row[name][0].numpy(), rows[:, column])


def check_best(scores, chosen):
    assert np.all(
        scores[np.arange(len(scores)), chosen] >= scores.max(1, initial=-9) - ATOL
    )


def test_a_sentence_has_the_same_tree_alone_and_among_others(head):
    parse = pipeline(head("ud"))
    texts = [" ".join(tokens) for tokens in SENTENCES]
    assert parse(texts) == [parse(text) for text in texts]


def test_the_pieces_of_a_long_sentence_form_one_tree(head, monkeypatch):
    monkeypatch.setattr(light_networks, "LONGEST", 4)
    (words,) = pipeline(head("ud"))([["bank", "of"] * 5])
    heads = [word["head"] for word in words]
    (root,) = [i for i, one in enumerate(heads) if one < 0]
    assert root < 4
    for i, one in enumerate(heads):
        assert one in (-1, root) or one // 4 == i // 4
    for _ in heads:
        heads = [one if one < 0 else heads[one] for one in heads]
    assert {*heads} == {-1}


def test_words_have_their_columns_and_places_in_the_text(head):
    text = "The  bank. Don't!"
    words = pipeline(head("ud"))(text)
    assert [text[w["start"] : w["end"]] for w in words] == [w["text"] for w in words]
    assert [w["sentence"] for w in words] == [0, 0, 0, 1, 1, 1]
    for word in words:
        assert [*word] == [
            *("text", "sentence", "lemma", "upos", "xpos", "feats", "head"),
            *("deprel", "start", "end"),
        ]
        assert (word["head"] < 0) == (word["deprel"] == "root")
        assert word["feats"] in ("", "Number=Sing")
