"""The tagger."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.heads import Tagger
from tests.support.task_models import built, text_inputs, token_vectors

TAGS = ["B-AN", "I-AN", "O"]
SENTENCES = [["ein", "und"], ["der", "eine", "Neu", "und"], ["war"]]
INPUTS = text_inputs(tokens=SENTENCES)


@functools.cache
def tagger():
    return built(Tagger(token_vectors("both", l2=0.5), tags=TAGS, units=5))


def test_empty_strings_at_the_end_of_a_sentence_get_no_tag():
    sentences = [["ein", "und"], ["ein", "", "und", "", ""], [""]]
    tags = tagger().predict(sentences)
    assert [*map(len, tags)] == [2, 3, 0]
    assert tags[0] == tagger().predict(sentences[:1])[0]


LABELS = np.array([[0, 1, -1, -1], [2, 0, 1, 2], [2, -1, -1, -1]])


def test_the_loss_is_the_mean_over_tokens():
    model, alone = (
        built(Tagger(token_vectors(), tags=TAGS, units=5, crf=crf))
        for crf in (True, False)
    )
    outputs = model(INPUTS)
    total = -np.sum(model.crf.log_likelihood(outputs, LABELS, LABELS >= 0))
    loss = model.compute_loss(INPUTS, LABELS, outputs)
    assert float(loss) == pytest.approx(total / 7, rel=1e-5)
    log_p = np.array(tf.nn.log_softmax(alone(INPUTS)))
    places = zip(*np.where(LABELS >= 0))
    total = -sum(log_p[(*place, LABELS[place])] for place in places)
    loss = alone.compute_loss(INPUTS, LABELS, alone(INPUTS))
    assert float(loss) == pytest.approx(total / 7, rel=1e-5)
