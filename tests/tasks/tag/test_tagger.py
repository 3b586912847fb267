"""The tagger."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks.tag.tagger import Tagger
from tests.support.task_models import (
    built,
    check_loaded,
    text_inputs,
    token_vectors,
)

TAGS = ["B-AN", "I-AN", "O"]
SENTENCES = [["ein", "und"], ["der", "eine", "Neu", "und"], ["war"]]
INPUTS = text_inputs(tokens=SENTENCES)


@functools.cache
def tagger():
    return built(Tagger(token_vectors("both", l2=0.5), TAGS, units=5))


def test_empty_strings_at_the_end_of_a_sentence_get_no_tag():
    sentences = [["ein", "und"], ["ein", "", "und", "", ""], [""]]
    tags = tagger().tag(sentences)
    assert [*map(len, tags)] == [2, 3, 0]
    assert tags[0] == tagger().tag(sentences[:1])[0]


def test_one_graph_tags_batches_of_all_shapes():
    tagger = Tagger(token_vectors(), TAGS, units=5)
    tagger.build()
    for sentences in (SENTENCES[:1], SENTENCES, SENTENCES[1:], [["ein"]]):
        assert [*map(len, tagger.tag(sentences))] == [*map(len, sentences)]
    assert tagger.predict_function.experimental_get_tracing_count() == 1


LABELS = np.array([[0, 1, -1, -1], [2, 0, 1, 2], [2, -1, -1, -1]])


def test_the_loss_is_the_mean_over_tokens_and_the_penalty_of_the_mixes():
    model, alone = tagger(), built(Tagger(token_vectors(), TAGS, units=5, crf=False))
    outputs = model(INPUTS)
    total = -np.sum(model.crf.log_likelihood(outputs, LABELS, LABELS >= 0))
    mixes = model.token_vectors.elmo.mixes
    penalty = 0.5 * sum(np.sum(mix.scalars.numpy() ** 2) for mix in mixes)
    loss = model.compute_loss(INPUTS, LABELS, outputs)
    assert float(loss) == pytest.approx(total / 7 + penalty, rel=1e-5) and penalty > 0.1
    log_p = np.array(tf.nn.log_softmax(alone(INPUTS)))
    places = zip(*np.where(LABELS >= 0))
    total = -sum(log_p[(*place, LABELS[place])] for place in places)
    loss = alone.compute_loss(INPUTS, LABELS, alone(INPUTS))
    assert float(loss) == pytest.approx(total / 7, rel=1e-5)


def test_given_layers_give_the_same_loss_in_training():
    model = tagger()
    seeds = [(x, x.numpy()) for x in model.variables if "seed_generator" in x.path]

    def loss(inputs):
        for variable, value in seeds:
            variable.assign(value)
        return float(model.compute_loss(inputs, LABELS, model(inputs, training=True)))

    layers = model.token_vectors.elmo.layers(INPUTS["tokens"])
    computed, given = loss(INPUTS), loss(INPUTS | {"tokens_layers": layers})
    assert given == pytest.approx(computed, rel=1e-5)
    without_dropout = float(model.compute_loss(INPUTS, LABELS, model(INPUTS)))
    assert abs(computed - without_dropout) > 1e-3


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
