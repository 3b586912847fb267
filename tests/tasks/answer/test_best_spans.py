"""The exact search for the best span."""

import numpy as np
import pytest

from elmo_keras.tasks.answer.span_scores import best_spans


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
