"""Vectors of spans, against the equations."""

import numpy as np

from elmo_keras.tasks.coreference.mentions import SpanVectors
from tests.support.models import randomize


def test_spans_are_all_short_pieces_of_sentences_with_their_vectors():
    rng = np.random.default_rng(0)
    lengths = [4, 0, 1, 5]
    x, h = rng.normal(size=(4, 5, 3)), rng.normal(size=(4, 5, 2))
    layer = SpanVectors(longest=3, width_dim=2)
    layer.build(x.shape, h.shape)
    randomize(layer)
    kernel, bias, widths = (w.numpy() for w in layer.weights)
    mask = np.arange(5) < np.array(lengths)[:, None]
    spans = layer(x.astype("float32"), h.astype("float32"), mask)
    expected = []
    for sentence, n in enumerate(lengths):
        before = sum(lengths[:sentence])
        for first in range(n):
            for last in range(first, min(n, first + 3)):
                own = slice(first, last + 1)
                scores = np.exp(h[sentence, own] @ kernel[:, 0] + bias)
                head = scores / scores.sum() @ x[sentence, own]
                ends = *h[sentence, first], *h[sentence, last]
                vector = [*ends, *head, *widths[last - first]]
                expected.append((before + first, before + last, vector))
    firsts, lasts, vectors = zip(*expected)
    assert spans.first.numpy().tolist() == list(firsts)
    assert spans.last.numpy().tolist() == list(lasts)
    np.testing.assert_allclose(spans.vectors, vectors, atol=1e-5)
