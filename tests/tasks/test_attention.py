"""Attention and scores of spans, against the equations."""

import numpy as np
import pytest

from elmo_keras.tasks.answering import AttentionFlow, SelfAttention, best_spans
from tests.support.models import randomize
from tests.support.reference import softmax


@pytest.mark.parametrize("time, longest", [(1, 1), (1, 7), (5, 1), (6, 3), (9, 16)])
def test_the_span_is_the_best_of_all(time, longest):
    rng = np.random.default_rng(time)
    starts, ends = rng.normal(size=(2, 11, time)).astype("float32")
    for row, ((first, last), score) in enumerate(
        zip(*best_spans(starts, ends, longest))
    ):
        spans = [(i, j) for i in range(time) for j in range(i, min(time, i + longest))]
        best = max(spans, key=lambda span: starts[row, span[0]] + ends[row, span[1]])
        assert (int(first), int(last)) == best
        assert float(score) == pytest.approx(starts[row, best[0]] + ends[row, best[1]])


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
