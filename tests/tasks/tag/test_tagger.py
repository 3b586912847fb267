"""The tagger."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks.experiments.batches import Batches
from elmo_keras.tasks.experiments.fitting import fit_until_best
from elmo_keras.tasks.experiments.layer_cache import LayerCache
from elmo_keras.tasks.tag.__main__ import targets
from elmo_keras.tasks.tag.tagger import Tagger
from tests.support.task_models import (
    built,
    check_loaded,
    entities,
    text_inputs,
    token_vectors,
)

TAGS = ["B-AN", "I-AN", "O"]
SENTENCES = [["ein", "und"], ["der", "eine", "Neu", "und"], ["war"]]
INPUTS = text_inputs(tokens=SENTENCES)


@pytest.fixture(scope="module")
def tagger():
    return built(Tagger(token_vectors("both", l2=0.5), TAGS, units=5))


@pytest.fixture(scope="module")
def outputs(tagger):
    return tagger(INPUTS)


def test_a_saved_tagger_without_crf_decides_each_tag_by_itself(tmp_path):
    tagger = built(Tagger(token_vectors(), TAGS, units=5, crf=False))
    outputs = tagger(INPUTS)
    loaded = check_loaded(tagger, INPUTS, tmp_path, expected=outputs)
    best = np.array(outputs).argmax(axis=2)
    expected = [
        [TAGS[number] for number in row[: len(tokens)]]
        for row, tokens in zip(best, SENTENCES)
    ]
    assert loaded.tag(SENTENCES) == expected
    assert loaded.predict_on_batch(INPUTS)[2].tolist() == [best[2, 0], -1, -1, -1]


def test_empty_strings_at_the_end_of_a_sentence_get_no_tag(tagger):
    sentences = [["ein", "und"], ["ein", "", "und", "", ""], [""]]
    assert [len(tags) for tags in tagger.tag(sentences)] == [2, 3, 0]
    assert tagger.tag(sentences)[0] == tagger.tag(sentences[:1])[0]


def test_one_graph_tags_batches_of_all_shapes():
    tagger = Tagger(token_vectors(), TAGS, units=5)
    tagger.build()
    for sentences in (SENTENCES[:1], SENTENCES, SENTENCES[1:], [["ein"]]):
        assert [*map(len, tagger.tag(sentences))] == [*map(len, sentences)]
    assert tagger.predict_function.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("crf", [True, False])
def test_the_loss_is_the_mean_over_tokens_and_the_penalty_of_the_mixes(crf, tagger):
    model = tagger
    if not crf:
        model = built(Tagger(token_vectors(), TAGS, units=5, crf=False))
    labels = np.array([[0, 1, -1, -1], [2, 0, 1, 2], [2, -1, -1, -1]])
    outputs = model(INPUTS)
    if crf:
        total = -np.sum(model.crf.log_likelihood(outputs, labels, labels >= 0))
    else:
        log_p = np.array(tf.nn.log_softmax(outputs))
        total = -sum(
            log_p[(*place, labels[place])] for place in zip(*np.where(labels >= 0))
        )
    penalty = 0.0
    if crf:
        mixes = model.token_vectors.elmo.mixes
        penalty = 0.5 * sum(np.sum(mix.scalars.numpy() ** 2) for mix in mixes)
        assert penalty > 0.1
    loss = model.compute_loss(INPUTS, labels, outputs)
    assert float(loss) == pytest.approx(total / 7 + penalty, rel=1e-5)


def test_given_layers_give_the_same_loss_in_training(tagger, outputs):
    labels = np.array([[0, 1, -1, -1], [2, 0, 1, 2], [2, -1, -1, -1]])
    seeds = [(x, x.numpy()) for x in tagger.variables if "seed_generator" in x.path]

    def loss(inputs):
        for variable, value in seeds:
            variable.assign(value)
        return float(tagger.compute_loss(inputs, labels, tagger(inputs, training=True)))

    layers = tagger.token_vectors.elmo.layers(INPUTS["tokens"])
    computed, given = loss(INPUTS), loss(INPUTS | {"tokens_layers": layers})
    assert given == pytest.approx(computed, rel=1e-5)
    without_dropout = float(tagger.compute_loss(INPUTS, labels, outputs))
    assert abs(computed - without_dropout) > 1e-3


def training_losses(cached):
    """The losses of training with the same random numbers."""
    keras.utils.set_random_seed(3)
    made = entities(30, np.random.default_rng(0))
    vectors = token_vectors("both", l2=0.1, dropout=0.2)
    model = built(Tagger(vectors, TAGS, units=11, dropout=0.1))
    model.compile(keras.optimizers.Adam(0.02), jit_compile=False)
    tokens = [example["tokens"] for example in made]
    cache = LayerCache(vectors.elmo, tokens) if cached else None
    labels = targets(made, model)
    batches = Batches(made, ["tokens"], labels=labels, cache=cache, batch_size=8)
    rising = iter(range(9))
    fitted = fit_until_best(
        model, batches, lambda: {"epoch": next(rising)}, epochs=3, patience=3
    )
    return fitted.losses


@pytest.mark.slow
def test_cached_layers_give_the_losses_of_computed_ones():
    computed, cached = (training_losses(cached) for cached in (False, True))
    # The layers of a sentence differ by 1e-7 with its neighbours in the batch.
    np.testing.assert_allclose(cached, computed, rtol=1e-4)
    assert computed[-1] < computed[0]


def test_the_predicate_is_an_input(tmp_path):
    tags = ["B-A0", "B-V", "O"]
    model = built(Tagger(token_vectors(), tags, units=5, predicate_dim=3))
    sentences = [["w"] * 4, ["w"] * 3]
    inputs = text_inputs(tokens=sentences)
    one, other = (
        inputs | {"predicate": tf.one_hot(places, 4, dtype="int32")}
        for places in ([1, 2], [2, 0])
    )
    outputs = model(one)
    assert np.abs(outputs - model(other)).max() > 1e-4
    check_loaded(model, one, tmp_path, expected=outputs)
    best = model.predict_on_batch(one)
    assert model.tag(sentences, [1, 2])[0] == [tags[number] for number in best[0]]
