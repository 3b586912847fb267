"""The classifier, ESIM and the model of similarity."""

from collections.abc import Callable
from typing import NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize

from elmo_keras import Elmo
from elmo_keras.tasks import classify, entail, similarity
from elmo_keras.tasks.experiments.batches import Batches, predictions
from elmo_keras.tasks.experiments.early_stopping import fit_until_best
from elmo_keras.tasks.experiments.layer_cache import LayerCache
from elmo_keras.tasks.experiments.task import Task
from elmo_keras.tasks.models.classifier import TextClassifier
from elmo_keras.tasks.models.esim import ESIM
from elmo_keras.tasks.models.padding import padded
from elmo_keras.tasks.models.similarity_model import SimilarityModel
from elmo_keras.tasks.models.token_vectors import TokenVectors

WORDS = ["ein", "zwei", "drei", "vier", "fünf", "sechs"]


def texts(n, rng, longest=6):
    return [rng.choice(WORDS, rng.integers(1, longest)).tolist() for _ in range(n)]


def with_one_label(n, rng):
    """Whether a text has "ein"."""
    return [{"tokens": t, "label": str("ein" in t)} for t in texts(n, rng)]


def with_several_labels(n, rng):
    """Which of two words a text has."""
    return [
        {"tokens": t, "labels": [word for word in WORDS[:2] if word in t]}
        for t in texts(n, rng)
    ]


def entailments(n, rng):
    """Whether the premise has the hypothesis' word."""
    premises, hypotheses = texts(n, rng), texts(n, rng, longest=2)
    return [
        {"premise": p, "hypothesis": h, "label": str(h[0] in p)}
        for p, h in zip(premises, hypotheses)
    ]


def similar_pairs(n, rng):
    """5 for the same word twice, 1 for two words."""
    firsts, others = texts(n, rng, longest=2), texts(n, rng, longest=2)
    pairs = [(a, a if rng.random() < 0.5 else b) for a, b in zip(firsts, others)]
    return [
        {"first": a, "second": b, "score": 5.0 if a == b else 1.0} for a, b in pairs
    ]


class Case(NamedTuple):
    """A model, and examples that were made up for it."""

    task: Task
    make: Callable  # (token vectors) -> the model
    examples: Callable  # (n, rng) -> examples
    answer: Callable  # (model, examples) -> what its method for users gives
    reached: float  # a score that guessing does not reach


CASES = {
    "one label": Case(
        classify.TASK,
        lambda vectors: TextClassifier(vectors, ["False", "True"], units=7),
        with_one_label,
        lambda model, made: model.classify([e["tokens"] for e in made]),
        0.95,
    ),
    "several labels": Case(
        classify.TASK,
        lambda vectors: TextClassifier(vectors, WORDS[:2], several=True, units=7),
        with_several_labels,
        lambda model, made: model.classify([e["tokens"] for e in made]),
        0.95,
    ),
    "entailment": Case(
        entail.TASK,
        lambda vectors: ESIM(vectors, ["False", "True"], units=11, dropout=0.0),
        entailments,
        lambda model, made: model.judge(*fields(made, "premise", "hypothesis")),
        0.9,
    ),
    "similarity": Case(
        similarity.TASK,
        lambda vectors: SimilarityModel(vectors, units=13),
        similar_pairs,
        lambda model, made: model.similarity(*fields(made, "first", "second")),
        0.8,
    ),
}
every_model = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def fields(made, *names):
    return [[example[name] for example in made] for name in names]


def elmo_layer(config, **kwargs):
    elmo = Elmo(config, **kwargs)
    elmo.build()
    return randomize(elmo, scale=0.5)


def built(case, elmo=None, elmo_at="input"):
    keras.utils.set_random_seed(0)
    return case.make(TokenVectors(WORDS[:4], 8, 6, elmo, elmo_at, dropout=0.1))


def inputs_of(case, made, cache=None):
    return Batches(made, case.task.text_fields, cache=cache).inputs(range(len(made)))


@pytest.mark.slow
@every_model
def test_a_model_learns_a_set_that_was_made_up(case):
    rng = np.random.default_rng(0)
    made, held_out = case.examples(300, rng), case.examples(80, rng)
    model = built(case)
    model.compile(keras.optimizers.Adam(0.02), loss=case.task.loss, jit_compile=False)
    train = Batches(
        made,
        case.task.text_fields,
        labels=case.task.targets(made, model),
        batch_size=10,
    )
    dev = Batches(held_out, case.task.text_fields)
    fitted = fit_until_best(
        model,
        train,
        lambda: case.task.scores(model, held_out, predictions(model, dev)),
        epochs=10,
        patience=5,
    )
    assert min(fitted.losses) < fitted.losses[0] / 2
    assert next(iter(fitted.scores.values())) > case.reached


@every_model
def test_a_saved_model_answers_strings_the_same(case, config, tmp_path):
    model = built(case, elmo_layer(config, num_representations=2, l2=0.5), "both")
    model.build()
    randomize(model, scale=0.3)
    made = case.examples(3, np.random.default_rng(1))
    expected = np.array(model(inputs_of(case, made)))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    answers = case.answer(loaded, made)
    if case.task is similarity.TASK:
        np.testing.assert_allclose(answers, expected, atol=1e-5)
    else:
        np.testing.assert_allclose(loaded(inputs_of(case, made)), expected, atol=1e-5)
        assert answers == model.decide(expected)


@every_model
def test_padding_and_other_examples_change_nothing(case, config):
    model = built(case, elmo_layer(config, num_representations=2), "both")
    made = case.examples(3, np.random.default_rng(2))
    made.append(made[0] | {field: [] for field in case.task.text_fields})
    together = np.array(model(inputs_of(case, made)))
    assert np.all(np.isfinite(together)) and np.ptp(together, axis=0).min() > 1e-4
    for example, expected in zip(made[1:], together[1:]):
        alone = {
            name: tf.pad(x, [[0, 0], [0, extra]], constant_values="")
            for extra, (name, x) in enumerate(inputs_of(case, [example]).items(), 1)
        }
        np.testing.assert_allclose(model(alone)[0], expected, atol=1e-5)


@every_model
def test_layers_that_were_computed_before_stand_for_the_bilm(case, config):
    elmo = elmo_layer(config, num_representations=2)
    model = built(case, elmo, "both")
    made = case.examples(3, np.random.default_rng(3))
    cache = LayerCache(elmo, sum(fields(made, *case.task.text_fields), []))
    inputs = inputs_of(case, made, cache)
    expected = np.array(model(inputs_of(case, made)))
    np.testing.assert_allclose(model(inputs), expected, atol=1e-5)
    for field in case.task.text_fields:  # it is these that count
        inputs[f"{field}_layers"] = -inputs[f"{field}_layers"]
    assert np.abs(model(inputs) - expected).max() > 1e-4


def test_texts_without_tokens_are_one_token_wide_all_the_same():
    assert padded([[], []]).numpy().tolist() == [[b""], [b""]]
    assert padded([["a"], ["b", "가"]]).numpy().tolist() == [
        [b"a", b""],
        [b"b", "가".encode()],
    ]


def test_the_losses_of_the_classifier_by_hand(config):
    y_pred = np.array([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]], "float32")
    one = TextClassifier(TokenVectors(), ["a", "b", "c"], units=2)
    loss = one.compute_loss(y=np.array([0, 2]), y_pred=y_pred)
    assert float(loss) == pytest.approx(-np.log([0.5, 0.8]).mean(), rel=1e-5)
    several = TextClassifier(TokenVectors(), ["a", "b", "c"], several=True, units=2)
    y = np.array([[1, 0, 1], [0, 0, 0]], "float32")
    p = np.where(y == 1, y_pred, 1 - y_pred)
    loss = several.compute_loss(y=y, y_pred=y_pred)
    assert float(loss) == pytest.approx(-np.log(p).mean(), rel=1e-5)


def test_the_mixes_penalty_is_in_the_classifiers_loss(config):
    elmo = elmo_layer(config, l2=2.0)
    model = built(CASES["one label"], elmo)
    y, y_pred = np.array([1]), np.array([[0.5, 0.5]], "float32")
    penalty = 2.0 * float(np.sum(elmo.mixes[0].scalars.numpy() ** 2))
    assert penalty > 0.1
    model(inputs_of(CASES["one label"], [{"tokens": ["ein"]}]))
    loss = float(model.compute_loss(y=y, y_pred=y_pred))
    assert loss == pytest.approx(np.log(2) + penalty, rel=1e-4)


def test_a_label_of_several_is_given_from_three_tenths_on():
    model = TextClassifier(TokenVectors(), ["a", "b"], several=True, units=2)
    assert model.decide(np.array([[0.31, 0.29], [0.9, 0.3], [0.1, 0.2]])) == [
        ["a"],
        ["a", "b"],
        [],
    ]


def test_similarity_is_the_same_whichever_sentence_is_first():
    case = CASES["similarity"]
    model = built(case)
    made = case.examples(5, np.random.default_rng(5))
    firsts, seconds = fields(made, "first", "second")
    one, other = model.similarity(firsts, seconds), model.similarity(seconds, firsts)
    np.testing.assert_allclose(one, other, atol=1e-6)
    assert np.ptp(one) > 1e-4 and min(one) > 0 and max(one) < 5


def test_entailment_depends_on_which_sentence_is_the_premise():
    case = CASES["entailment"]
    model = built(case)
    made = case.examples(5, np.random.default_rng(6))
    turned = [
        {"premise": e["hypothesis"], "hypothesis": e["premise"], "label": e["label"]}
        for e in made
    ]
    one, other = (np.array(model(inputs_of(case, e))) for e in (made, turned))
    assert np.abs(one - other).max() > 1e-4
