"""Heads in NumPy give what the task models give."""

import numpy as np
import pytest

from elmo_keras import Embedder
from elmo_keras.pipelines.arithmetic import Quantized
from elmo_keras.pipelines.head_files import read_head
from elmo_keras.pipelines.keras_heads import KerasClassifier, KerasTagger
from elmo_keras.pipelines.light_heads import Batch, LightClassifier, LightTagger
from elmo_keras.text.tokens import padded_tokens
from tests.support.heads import make_head, task_model

SENTENCES = ["The bank of the river .".split(), ["Ann"], "money in The bank".split()]
slow = pytest.mark.slow
ATOL = 0.05  # of probabilities, by weights and products in int8


@pytest.fixture(scope="module")
def layers(model_directory):
    return Embedder(model_directory, layers="all").encode(SENTENCES)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("pos", {}),
        ("ner", {"elmo_at": "both"}),
        ("ner", {"settings": {"layer_norm": True}}),
        ("plain", {"elmo_at": "output"}),
        pytest.param("pos", {"settings": {"layers": "top"}}, marks=slow),
        pytest.param("pos", {"settings": {"layers": 1}}, marks=slow),
        pytest.param("pos", {"settings": {"layers": "average"}}, marks=slow),
    ],
)
def test_a_tagger_gives_the_tags_of_its_task_model(
    kind, options, model_directory, layers, tmp_path
):
    folder = make_head(kind, model_directory, tmp_path, **options)
    settings = options.get("settings", {})
    elmo_at = options.get("elmo_at", "input")
    model = task_model(kind, model_directory, elmo_at, **settings)
    expected = KerasTagger(model).tag(Batch(SENTENCES))
    answers = LightTagger(read_head(folder)).tag(Batch(SENTENCES, layers))
    for answer, tags in zip(answers, expected, strict=True):
        np.testing.assert_allclose(answer.scores, tags.scores, atol=ATOL)
        if min(tags.scores) > 0.5 + ATOL:  # elsewhere rounding may decide
            assert answer.tags == tags.tags
    assert sum(a.tags == e.tags for a, e in zip(answers, expected)) >= 2


def test_roles_are_those_of_the_given_predicate(head, model_directory, layers):
    light = LightTagger(read_head(head("srl")))
    model, tokens = task_model("srl", model_directory), padded_tokens(SENTENCES)
    for predicates in [1, 0, 2], [5, 0, 3]:
        answers = light.tag(Batch(SENTENCES, layers, predicates))
        marks = np.eye(tokens.shape[1], dtype="int32")[predicates]
        expected = model.answers({"tokens": tokens, "predicate": marks})["scores"]
        for answer, scores in zip(answers, expected.numpy(), strict=True):
            n = len(answer.scores)
            np.testing.assert_allclose(answer.scores, scores[:n], atol=ATOL)
    other = light.tag(Batch(SENTENCES, layers, [1, 0, 2]))
    assert [a.scores for a in answers] != [a.scores for a in other]


@pytest.mark.parametrize(
    ("kind", "elmo_at"),
    [
        ("sentiment", "input"),
        ("emotions", "both"),
        pytest.param("sentiment", "both", marks=slow),
        pytest.param("emotions", "input", marks=slow),
    ],
)
def test_a_classifier_gives_the_probabilities_of_its_task_model(
    kind, elmo_at, model_directory, layers, tmp_path
):
    folder = make_head(kind, model_directory, tmp_path, elmo_at=elmo_at)
    model = KerasClassifier(task_model(kind, model_directory, elmo_at))
    expected = model.probabilities(Batch(SENTENCES))
    light = LightClassifier(read_head(folder))
    actual = light.probabilities(Batch(SENTENCES, layers))
    np.testing.assert_allclose(actual, expected, atol=ATOL)
    (empty,) = light.probabilities(Batch([[]], [layers[0][:, :0]]))
    assert np.isfinite(empty).all()


def test_a_sentence_alone_has_the_same_scores_to_the_last_bit(head, model_directory):
    rng = np.random.default_rng(0)
    words = "the bank of a river money Ann sleeps , .".split()
    sentences = [list(rng.choice(words, n)) for n in rng.integers(1, 30, 200)]
    layers = Embedder(model_directory, layers="all").encode(sentences)
    tagger = LightTagger(read_head(head("ner")))
    classifier = LightClassifier(read_head(head("sentiment")))
    whole, alone = (
        Batch(sentences, layers),
        [Batch([s], [x]) for s, x in zip(sentences, layers)],
    )
    for predict in tagger.tag, lambda batch: classifier.probabilities(batch).tolist():
        assert predict(whole) == [predict(batch)[0] for batch in alone]


@pytest.mark.parametrize("n", [1040, 4096])
def test_products_are_exact_in_any_order(n):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(n, 7)).astype("float32")
    x = rng.normal(size=(5, n)).astype("float32")
    x[1], weights[:, 2] = 1, 1  # the largest sums
    quantized, order = Quantized(weights), rng.permutation(n)
    y = quantized(x)
    np.testing.assert_array_equal(Quantized(weights[order])(x[:, order]), y)
    np.testing.assert_array_equal(quantized(x[3:4])[0], y[3])
    np.testing.assert_allclose(y, x @ weights, atol=0.02 * np.abs(x @ weights).max())
    assert not quantized(np.zeros((1, n), np.float32)).any()
