"""Attention, scores of spans and of characters at their edges, against the equations."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks.answer.attention_flow import AttentionFlow, SelfAttention
from elmo_keras.tasks.answer.cuts import (
    BUCKETS,
    CUT_OFF,
    EDGE,
    KEPT,
    LONGEST_CUT,
    NOTHING,
    CharacterCuts,
    SpanCuts,
    best_cuts,
)
from elmo_keras.tasks.answer.question_answering import best_spans
from tests.support.models import randomize
from tests.support.reference import softmax

TOKENS = ["서울에서", "a", "abcdefghijklm", "é🙂", ""]


@pytest.mark.parametrize("at_end", [False, True])
def test_scores_follow_the_equation(at_end):
    layer = CharacterCuts(at_end, units=5, character_dim=3)
    vectors = np.random.default_rng(0).normal(size=(5, 7)).astype("float32")
    layer.build((None,), vectors.shape)
    randomize(layer)
    e, around = layer.characters.embeddings.numpy(), layer.around.kernel.numpy()
    bias = layer.around.bias.numpy()
    of_token, v = layer.of_token.kernel.numpy(), layer.score.kernel.numpy()[:, 0]
    actual = layer(tf.constant(TOKENS), vectors).numpy()
    assert actual.shape == (5, LONGEST_CUT + 1)
    for row, token, h in zip(actual, TOKENS, vectors):
        inwards = token[::-1] if at_end else token
        ids = [EDGE] * CUT_OFF + [2 + ord(c) % BUCKETS for c in inwards]
        ids += [NOTHING] * (LONGEST_CUT + KEPT)
        for c, score in enumerate(row):
            if c and c >= len(token):
                assert score < -1e8
                continue
            window = e[ids[c : c + CUT_OFF + KEPT]]
            hidden = np.einsum("kd,kdu->u", window, around) + bias + h @ of_token
            expected = np.maximum(hidden, 0) @ v + layer.of_number.numpy()[c]
            assert score == pytest.approx(expected, abs=1e-4)


def test_the_best_cuts_leave_a_character():
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=(2, 6, 4)).astype("float32")
    room = [0, 1, 2, 3, 5, 99]
    actual = np.transpose(best_cuts(before, after, tf.constant(room)))
    for b, cuts in enumerate(actual):
        pairs = [p for p in itertools.product(range(4), repeat=2) if sum(p) <= room[b]]
        best = max(pairs, key=lambda pair: before[b, pair[0]] + after[b, pair[1]])
        assert tuple(cuts) == best


def test_the_cuts_of_a_span_are_those_of_its_own_tokens():
    layer = SpanCuts(dropout=0.9)
    layer.build((None, None, 3))
    randomize(layer)
    context = tf.constant([["가나다", "abcd", "끝"], ["서울에서", "x", ""]])
    starts, ends = np.random.default_rng(0).normal(size=(2, 2, 3, 3)).astype("float32")
    before, after = layer(context, starts, ends, spans=tf.constant([[0, 1], [0, 0]]))
    first = layer.before(context[:, 0], starts[:, 0])
    np.testing.assert_array_equal(before, first)
    last = layer.after(
        tf.stack([context[0, 1], context[1, 0]]), np.stack([ends[0, 1], ends[1, 0]])
    )
    np.testing.assert_array_equal(after, last)
    spans = tf.constant([[0, 1], [0, 0]])
    best = layer.best(context, starts, ends, spans=spans).numpy()
    assert best[0].tolist() == [np.argmax(before[0]), np.argmax(after[0])]
    assert best[1].sum() <= 3  # of the four characters of 서울에서


@pytest.mark.parametrize("time, longest", [(1, 1), (1, 7), (5, 1), (6, 3), (9, 16)])
def test_the_span_is_the_best_of_all(time, longest):
    rng = np.random.default_rng(time)
    starts, ends = rng.normal(size=(2, 11, time)).astype("float32")
    actual = np.transpose(best_spans(starts, ends, longest))
    for row, (first, last, score) in enumerate(actual):
        spans = [(i, j) for i in range(time) for j in range(i, min(time, i + longest))]
        best = max(spans, key=lambda span: starts[row, span[0]] + ends[row, span[1]])
        assert (first, last) == best
        assert score == pytest.approx(starts[row, best[0]] + ends[row, best[1]])


def test_attention_follows_the_equations():
    rng = np.random.default_rng(0)
    h, q = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 4, 3))
    flow = AttentionFlow()
    flow.build(h.shape)
    u, v, w = (x.numpy() for x in randomize(flow).weights)
    lengths, other = [5, 3], [2, 4]
    masks = (
        np.arange(5) < np.array(lengths)[:, None],
        np.arange(4) < np.array(other)[:, None],
    )
    actual = flow(h.astype("float32"), q.astype("float32"), *masks)
    for b, (n, m) in enumerate(zip(lengths, other)):
        a = np.array(
            [[u @ x + v @ y + (w * x) @ y for y in q[b, :m]] for x in h[b, :n]]
        )
        weights = softmax(a.max(axis=1))
        summary = weights @ h[b, :n]
        for i in range(n):
            c = softmax(a[i]) @ q[b, :m]
            expected = [*h[b, i], *c, *(h[b, i] * c), *(h[b, i] * summary)]
            np.testing.assert_allclose(actual[b, i], expected, atol=1e-5)


def test_self_attention_leaves_out_the_token_itself_and_padding():
    rng = np.random.default_rng(0)
    h = rng.normal(size=(1, 5, 3))
    attention = SelfAttention()
    attention.build(h.shape)
    u, v, w = (x.numpy() for x in randomize(attention).weights)
    actual = attention(h.astype("float32"), np.arange(5)[None] < 4)
    for i in range(4):
        others = [j for j in range(4) if j != i]
        a = np.array(
            [u @ h[0, i] + v @ h[0, j] + (w * h[0, i]) @ h[0, j] for j in others]
        )
        c = softmax(a) @ h[0, others]
        np.testing.assert_allclose(
            actual[0, i], [*h[0, i], *c, *(h[0, i] * c)], atol=1e-5
        )
