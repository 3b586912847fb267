"""Networks without TensorFlow give the scores of those by Keras."""

import keras
import numpy as np
import pytest

from elmo_keras import Embedder, pipeline
from elmo_keras.heads.head import keras_model, read_head
from elmo_keras.heads.kinds import load
from elmo_keras.heads.tagger import light as tagger
from elmo_keras.heads.tagger.entities import bio_tags
from elmo_keras.heads.token_batch import TokenBatch

SENTENCES = ["The bank of the river .".split(), ["Ann"], [], "money in a bank".split()]
pytestmark = pytest.mark.usefixtures("eagerly")
ATOL = 0.01  # scores are up to about 1, by products in int8
# Kernels of attention, multiplied so that tokens differ in their weights.
FACTORS = {"attention/kernel": 100, "attention/w": 10, "self_attention/w": 10}


@pytest.fixture(scope="module")
def embedder(model_directory):
    return Embedder(model_directory, layers="all")


def networks(folder):
    """The network without TensorFlow, and the one by Keras."""
    head = read_head(folder)
    for name in FACTORS.keys() & head.arrays.keys():
        head.arrays[name] *= FACTORS[name]
    model = keras_model(head)
    model.run_eagerly = True
    return load(head.kind.light)(head), model


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("pos", {}),
        ("ner", {"elmo_at": "both", "settings": {"layer_norm": True}}),
        ("plain", {"elmo_at": "output"}),
        ("ud", {"elmo_at": "both"}),
        ("ngrams", {}),
        ("emotions", {"elmo_at": "both"}),
        ("doubting", {"elmo_at": "both"}),
        *(
            pytest.param(*row, marks=pytest.mark.journey)
            for row in (
                ("ud", {}),
                ("sentiment", {}),
                ("qa", {}),
                ("pos", {"settings": {"layers": "top"}}),
                ("pos", {"settings": {"layers": "average"}}),
                ("sentiment", {"elmo_at": "both"}),
                ("emotions", {}),
                ("doubting", {"elmo_at": "output"}),
            )
        ),
    ],
)
def test_a_light_network_gives_the_scores_of_its_task_model(
    kind, options, head, embedder
):
    light, model = networks(head(kind, **options))
    rows = [SENTENCES]
    if len(model.text_fields) == 2:
        texts = [s for s in SENTENCES if s]
        rows = [texts, texts[::-1]]
    batches = [TokenBatch(texts, embedder.encode(texts)) for texts in rows]
    actual, expected = light.scores(*batches), model.scores(*batches)
    if kind in ("sentiment", "ngrams", "emotions"):
        assert np.isfinite(actual).all()
        some = batches[0].lengths > 0
        actual, expected = (np.log(x / (1 - x))[some] for x in (actual, expected))
    keras.tree.assert_same_structure(actual, expected)
    for a, b in zip(keras.tree.flatten(actual), keras.tree.flatten(expected)):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, atol=ATOL)


def test_roles_are_those_of_the_given_predicate(head, embedder):
    light, model = networks(head("srl"))
    batch = TokenBatch(SENTENCES, embedder.encode(SENTENCES))
    rows, positions = [0, 0, 1, 3, 3], [1, 5, 0, 2, 3]
    examples = [
        model.read_example({"tokens": SENTENCES[i], "predicate": position})
        for i, position in zip(rows, positions)
    ]
    expected = model.example_scores(model.batches(examples))
    [(scores, lengths, _)] = light.scores_of_predicates(batch, zip(rows, positions))
    assert lengths.tolist() == [6, 6, 1, 4, 4]
    np.testing.assert_allclose(scores, model.join_scores(expected), atol=ATOL)
    assert np.abs(expected[0] - expected[1]).max() > ATOL


def test_roles_of_a_long_sentence_are_those_of_a_window_around_the_predicate(
    head, monkeypatch
):
    find, words = pipeline(head("srl")), "The bank of Ann .".split() * 9
    whole = find.batch([words])
    predicates = [(0, 2), (0, 20), (0, 44)]
    [(expected, *_)] = find.model.scores_of_predicates(whole, predicates)
    monkeypatch.setattr(tagger, "WINDOW", 10)
    [(together, *_)] = find.model.scores_of_predicates(whole, predicates)
    assert len(together) == 30 and len(expected) == 135
    for i, begin in enumerate((0, 15, 35)):
        window = slice(begin, begin + 10)
        part = TokenBatch([words[window]], [whole.layers[0][:, window]])
        position = predicates[i][1]
        [(scores, *_)] = find.model.scores_of_predicates(part, [(0, position - begin)])
        np.testing.assert_array_equal(together[10 * i : 10 * (i + 1)], scores)
        [spans] = find.model.decoder.label(scores, part.lengths)
        roles = [(s.first + begin, s.end + begin, s.label) for s in spans]
        marks = np.arange(45) == position
        example = {"tokens": words, "predicate": marks.tolist()}
        assert find.predict_examples([example]) == [bio_tags(roles, 45)]


@pytest.mark.parametrize("kind", ["ner", "ud", "sentiment", "qa"])
def test_a_sentence_alone_has_the_same_scores_to_the_last_bit(kind, head, embedder):
    rng = np.random.default_rng(0)
    words = "the bank of a river money Ann sleeps , .".split()
    sentences = [list(rng.choice(words, n)) for n in rng.integers(1, 30, 60)]
    layers, read = embedder.encode(sentences), read_head(head(kind))
    light = load(read.kind.light)(read)

    def predict(batch):
        if kind == "qa":
            rows = light.scores(batch, batch)
            return [[np.asarray(x).tolist() for x in row] for row in rows]
        scores = light.scores(batch)
        if kind == "ner":
            return light.decoder.label(scores, batch.lengths, batch.sentences)
        if kind == "ud":
            return light.decoder.trees(scores, batch.sentences)
        return scores.tolist()

    together = predict(TokenBatch(sentences, layers))
    alone = [predict(TokenBatch([s], [x])) for s, x in zip(sentences, layers)]
    assert together == [one for [one] in alone]
