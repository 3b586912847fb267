"""The model that answers questions; attention against the equations."""

import functools
import itertools

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.heads import QuestionAnswering
from elmo_keras.heads.answering.decoding import NO_ANSWER, NOT_KNOWN
from elmo_keras.heads.answering.model import AttentionFlow, SelfAttention
from tests.support.models import randomize
from tests.support.reference import softmax
from tests.support.task_models import built, text_inputs, token_vectors

CONTEXTS = [["Ann", "saw", "Bob", "in", "Rome"], ["Fay", "?"], ["a", "b", "c"]]
QUESTIONS = [["Who", "?"], ["Where", "is", "Fay"], ["x"]]
INPUTS = text_inputs(context=CONTEXTS, question=QUESTIONS)


@functools.cache
def answerer(elmo_at=None, **options):
    vectors = token_vectors(elmo_at, words=["ann", "who"])
    options = {"units": 3, "dropout": 0.0, "unanswerable": True} | options
    return built(QuestionAnswering(vectors, **options))


def answer(model, context, question):
    return model.predict({"context": [context], "question": [question]})[0]


@pytest.mark.parametrize("elmo_at, unanswerable", [(None, False), ("both", True)])
def test_the_loss_is_minus_log_p_of_a_pair_of_ends(elmo_at, unanswerable, eagerly):
    model = answerer(elmo_at, unanswerable=unanswerable)
    outputs = model(INPUTS)
    starts, ends, none = (x.numpy() for x in outputs)
    labels = [(2, 4), (NO_ANSWER, NO_ANSWER), (NOT_KNOWN, NOT_KNOWN)]
    losses = []
    for b, (first, last) in enumerate(labels[: 1 + unanswerable]):
        n = len(CONTEXTS[b])
        pairs = itertools.product(starts[b, :n], ends[b, :n])
        total = sum(np.exp(s + e) for s, e in pairs) + unanswerable * np.exp(none[b])
        right = none[b] if first < 0 else starts[b, first] + ends[b, last]
        losses.append(np.log(total) - right)
    actual = model.compute_loss(INPUTS, tf.constant(labels), outputs)
    assert float(actual) == pytest.approx(np.mean(losses), rel=1e-5)


def attention(layer):
    """The layer with random weights, and the score of two vectors by its equation."""
    layer.build((2, 5, 3))
    u, v, w = (x.numpy() for x in randomize(layer).weights)
    return layer, lambda x, y: u @ x + v @ y + (w * x) @ y


def test_attention_follows_the_equations():
    h, q = np.random.default_rng(0).normal(size=(2, 2, 5, 3)).astype("float32")
    flow, score = attention(AttentionFlow())
    lengths, others = [[5], [3]], [[2], [4]]
    actual = flow(h, q[:, :4], np.arange(5) < lengths, np.arange(4) < others)
    for b, ((n,), (m,)) in enumerate(zip(lengths, others)):
        a = np.array([[score(x, y) for y in q[b, :m]] for x in h[b, :n]])
        summary = softmax(a.max(axis=1)) @ h[b, :n]
        for i in range(n):
            c = softmax(a[i]) @ q[b, :m]
            expected = [*h[b, i], *c, *(h[b, i] * c), *(h[b, i] * summary)]
            np.testing.assert_allclose(actual[b, i], expected, atol=1e-5)


def test_self_attention_leaves_out_the_token_itself_and_padding():
    h = np.random.default_rng(0).normal(size=(1, 5, 3)).astype("float32")
    layer, score = attention(SelfAttention())
    actual = layer(h, np.arange(5)[None] < 4)
    for i in range(4):
        others = [h[0, j] for j in range(4) if j != i]
        c = softmax(np.array([score(h[0, i], y) for y in others])) @ np.array(others)
        expected = [*h[0, i], *c, *(h[0, i] * c)]
        np.testing.assert_allclose(actual[0, i], expected, atol=1e-5)


def test_an_answer_is_a_piece_of_the_text():
    model = answerer()
    text = "Ann met Bob (of Busan) in 2018, didn't she?"
    assert answer(model, text, "Where?") in text
    whole = answer(answerer(unanswerable=False), "서울에서", "어디?")
    shortening = answerer(unanswerable=False, endings=("에서",))
    short = answer(shortening, "서울에서", "어디?")
    assert (whole, short) == ("서울에서", "서울")
    with pytest.raises(ValueError, match="at least one word. Received: ' ' and"):
        answer(model, " ", "Who?")
