"""The model of the similarity of two sentences."""

import numpy as np
import pytest

from elmo_keras.tasks.similarity import __main__ as task
from elmo_keras.tasks.similarity.similarity_model import SimilarityModel
from tests.support.task_models import (
    built,
    check_given_layers,
    check_loaded,
    check_padding,
    learned,
    random_texts,
    text_inputs,
    token_vectors,
)

FIRSTS = [["ein", "drei", "neu"], ["zwei"], [], ["sechs", "ein", "vier"]]
SECONDS = [["drei"], ["vier", "ein"], [], ["zwei", "zwei"]]


@pytest.fixture(scope="module")
def model():
    return built(SimilarityModel(token_vectors("both"), units=3))


@pytest.fixture(scope="module")
def inputs():
    return text_inputs(first=FIRSTS, second=SECONDS)


@pytest.fixture(scope="module")
def outputs(model, inputs):
    return model(inputs)


def test_padding_and_other_examples_change_nothing(model, inputs, outputs):
    check_padding(model, inputs, expected=outputs)


def test_given_layers_replace_the_language_model(model, inputs, outputs):
    check_given_layers(model, inputs, expected=outputs)


def test_a_saved_model_scores_strings_the_same(model, inputs, outputs, tmp_path):
    loaded = check_loaded(model, inputs, tmp_path, expected=outputs)
    np.testing.assert_array_equal(loaded.similarity(FIRSTS, SECONDS), outputs)


def test_the_order_of_the_sentences_does_not_matter(model):
    one = model.similarity(FIRSTS, SECONDS)
    np.testing.assert_allclose(one, model.similarity(SECONDS, FIRSTS), atol=1e-6)
    assert np.ptp(one) > 1e-4 and min(one) > 0 and max(one) < 5


def similar_pairs(n, rng):
    """5 for the same word twice, 1 for two words."""
    firsts, others = random_texts(n, rng, longest=1), random_texts(n, rng, longest=1)
    pairs = [(a, a if rng.random() < 0.5 else b) for a, b in zip(firsts, others)]
    return [
        {"first": a, "second": b, "score": 5.0 if a == b else 1.0} for a, b in pairs
    ]


@pytest.mark.slow
def test_it_learns_whether_two_words_are_the_same():
    rng = np.random.default_rng(0)
    train, held_out = similar_pairs(300, rng), similar_pairs(80, rng)
    model = SimilarityModel(token_vectors(), units=13)
    losses, score = learned(task.TASK, model, train, held_out)
    assert min(losses) < losses[0] / 2 and score > 0.8
