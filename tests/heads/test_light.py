"""Heads in NumPy give what the task models give."""

import numpy as np
import pytest

from elmo_keras import Embedder, pipeline
from elmo_keras.pipelines import light_heads, light_networks
from elmo_keras.pipelines.keras_heads import (
    KerasAnswerer,
    KerasClassifier,
    KerasTagger,
)
from elmo_keras.pipelines.light_heads import Batch, LightTagger, Quantized
from elmo_keras.pipelines.light_networks import (
    LightAnswerer,
    LightClassifier,
    LightParser,
)
from elmo_keras.tasks.head_files import keras_model, read_head, save_head
from elmo_keras.tasks.trees import encode_tree
from elmo_keras.text.tokens import padded_tokens
from tests.support.heads import task_model

SENTENCES = ["The bank of the river .".split(), ["Ann"], [], "money in a bank".split()]
pytestmark = pytest.mark.usefixtures("eagerly")
slow = pytest.mark.slow
ATOL = 0.01  # of scores up to about 1, by products in int8


@pytest.fixture(scope="module")
def embedder(model_directory):
    return Embedder(model_directory, layers="all")


@pytest.fixture(scope="module")
def layers(embedder):
    return embedder.encode(SENTENCES)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("pos", {}),
        ("ner", {"elmo_at": "both", "settings": {"layer_norm": True}}),
        ("plain", {"elmo_at": "output"}),
        pytest.param("pos", {"settings": {"layers": "top"}}, marks=slow),
        pytest.param("pos", {"settings": {"layers": "average"}}, marks=slow),
    ],
)
def test_a_tagger_gives_the_scores_and_answers_of_its_task_model(
    kind, options, head, layers
):
    read = read_head(head(kind, **options))
    model = keras_model(read)
    exact, batch = KerasTagger(model), Batch(SENTENCES, layers)
    actual = LightTagger(read).scores(batch)
    np.testing.assert_allclose(actual, exact.scores(batch), atol=ATOL)
    answers = model.answers({"tokens": padded_tokens(SENTENCES)})
    answers = {name: np.asarray(x) for name, x in answers.items()}
    for i, labelled in enumerate(exact.tag(batch)):
        names = "tags", "scores"
        if kind != "pos":
            names = "span_types", "span_scores", "span_begins", "span_ends"
        columns = [answers[name][i][: len(labelled)].tolist() for name in names]
        assert [part.label.encode() for part in labelled] == columns[0]
        scores = [part.score for part in labelled]
        np.testing.assert_allclose(scores, columns[1], atol=1e-5)
        n = answers["span_count"][i] if kind != "pos" else len(SENTENCES[i])
        assert len(labelled) == n
        if kind != "pos":
            assert [part[1:3] for part in labelled] == [*zip(*columns[2:])]


def test_roles_are_those_of_the_given_predicate(head, model_directory, layers):
    read = read_head(head("srl"))
    light, model = LightTagger(read), keras_model(read)
    tokens = padded_tokens(SENTENCES)
    rows, positions = [0, 0, 1, 3, 3], [1, 5, 0, 2, 3]
    sentences = [SENTENCES[i] for i in rows]
    marks = np.eye(tokens.shape[1], dtype="int32")[positions]
    expected = model({"tokens": padded_tokens(sentences), "predicate": marks}).numpy()
    scores, label = [], light.label
    light.label = lambda x, lengths: scores.append(x) or label(x, lengths)
    batch = Batch(SENTENCES, layers)
    spans = [*light.tag_predicates(batch, zip(rows, positions))]
    mask = np.arange(tokens.shape[1]) < np.array([[*map(len, sentences)]]).T
    np.testing.assert_allclose(scores[0][: mask.sum()], expected[mask], atol=ATOL)
    assert np.abs(expected[0] - expected[1]).max() > ATOL and len(spans) == 5


def test_roles_of_a_long_sentence_are_those_of_a_window_around_the_predicate(
    head, embedder, monkeypatch
):
    light, words = LightTagger(read_head(head("srl"))), "The bank of Ann .".split() * 9
    [layers] = embedder.encode([words])
    whole = Batch([words], [layers])
    expected = [*light.tag_predicates(whole, [(0, 2), (0, 20), (0, 44)])]
    monkeypatch.setattr(light_heads, "WINDOW", 10)
    for position, begin in ((2, 0), (20, 15), (44, 35)):
        part = Batch([words[begin : begin + 10]], [layers[:, begin : begin + 10]])
        [spans] = light.tag_predicates(part, [(0, position - begin)])
        [found] = light.tag_predicates(whole, [(0, position)])
        assert found == [
            s._replace(first=s.first + begin, end=s.end + begin) for s in spans
        ]
    assert [*light.tag_predicates(whole, [(0, 2), (0, 20), (0, 44)])] != expected


@pytest.mark.parametrize(
    ("kind", "elmo_at"),
    [
        ("qa", "input"),
        ("doubting", "both"),
        pytest.param("doubting", "output", marks=slow),
    ],
)
def test_an_answerer_gives_the_scores_of_its_task_model(kind, elmo_at, head, layers):
    read = read_head(head(kind, elmo_at=elmo_at))
    for name in ("attention", "self_attention"):
        read.arrays[f"{name}/w"] *= 10  # so that tokens differ in their weights
    texts, order = [s for s in SENTENCES if s], [0, 1, 3]
    contexts = Batch(texts, [layers[i] for i in order])
    questions = Batch(texts[::-1], [layers[i] for i in order[::-1]])
    light, exact = LightAnswerer(read), KerasAnswerer(keras_model(read))
    pairs = zip(light.scores(contexts, questions), exact.scores(contexts, questions))
    for actual, expected in pairs:
        for a, b in zip(actual, expected, strict=True):
            np.testing.assert_allclose(a, b, atol=ATOL)
    alone = light.scores(Batch(texts[1:2], [layers[1]]), Batch(texts[1:2], [layers[1]]))
    together = light.scores(contexts, questions)[1]
    assert [x.tolist() for x in alone[0][:2]] == [x.tolist() for x in together[:2]]


@pytest.mark.parametrize(
    ("kind", "elmo_at"),
    [
        ("sentiment", "input"),
        ("ngrams", "input"),
        ("emotions", "both"),
        pytest.param("sentiment", "both", marks=slow),
        pytest.param("emotions", "input", marks=slow),
    ],
)
def test_a_classifier_gives_the_probabilities_of_its_task_model(
    kind, elmo_at, head, layers
):
    read = read_head(head(kind, elmo_at=elmo_at))
    read.arrays["attention/kernel"] *= 100  # so that tokens differ in their weights
    batch = Batch(SENTENCES, layers)
    actual = LightClassifier(read).probabilities(batch)
    expected = KerasClassifier(keras_model(read)).probabilities(batch)
    assert np.isfinite(actual).all()
    log_odds = [np.log(x / (1 - x))[batch.lengths > 0] for x in (actual, expected)]
    np.testing.assert_allclose(*log_odds, atol=ATOL)


@pytest.mark.parametrize("kind", ["ner", "emotions", "qa", "coref"])
def test_a_head_has_the_weights_of_its_model(kind, model_directory, tmp_path):
    model = task_model(kind, model_directory)
    save_head(model, str(model_directory), tmp_path)
    saved = keras_model(read_head(tmp_path)).named_weights()
    for name, weight in model.named_weights().items():
        atol = np.abs(weight).max() / 254 * 1.01
        np.testing.assert_allclose(saved[name], weight, atol=atol, err_msg=name)


def test_a_sentence_alone_has_the_same_scores_to_the_last_bit(head, embedder):
    rng = np.random.default_rng(0)
    words = "the bank of a river money Ann sleeps , .".split()
    sentences = [list(rng.choice(words, n)) for n in rng.integers(1, 30, 60)]
    layers = embedder.encode(sentences)
    tagger = LightTagger(read_head(head("ner")))
    classifier = LightClassifier(read_head(head("sentiment")))
    parser = LightParser(read_head(head("ud")))
    batches = [Batch([s], [x]) for s, x in zip(sentences, layers)]
    for predict in (
        tagger.tag,
        parser.parse,
        lambda batch: classifier.probabilities(batch).tolist(),
    ):
        together = predict(Batch(sentences, layers))
        assert together == [predict(batch)[0] for batch in batches]


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


@pytest.mark.parametrize("elmo_at", ["input", "both"])
def test_trees_have_the_highest_scores_of_the_task_model(elmo_at, head, layers):
    read = read_head(head("ud", elmo_at=elmo_at))
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
        assert total >= arcs[i, words, best[i, words, 0]].sum() - len(words) * 2 * ATOL
        [relations] = model._relation_scores(row, rows[None, :, 0]).numpy()
        chosen = rows[:, 0] > 0
        check_best(relations[chosen], rows[chosen, 1])
        for column, name in enumerate(names, 2):
            check_best(row[name][0].numpy(), rows[:, column])


def check_best(scores, chosen):
    assert np.all(
        scores[np.arange(len(scores)), chosen] >= scores.max(1, initial=-9) - 2 * ATOL
    )


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
