"""Batches of a few shapes, against those without padding."""

import numpy as np
import pytest

from elmo_keras.training.fixed_shapes import N_PIECES, FixedShapes
from tests.training.test_streams import batches, streams, strings  # noqa: F401

SAMPLE = [(np.array([3, 9, 4, 4, 5]), 10), (np.full(20, 6), 12)]


def test_a_sample_fits_the_first_size_and_others_the_smallest_one_with_room():
    shapes = FixedShapes.of_sample(SAMPLE, most_places=50)
    assert shapes == FixedShapes(3, (50, 7, 7, 7, 7, 7, 7, 1 + 1), 13)
    sizes = {}
    for n, windows in [(20, 6), (24, 6), (25, 6), (3, 50), (4, 50), (40, 50), (1, 3)]:
        of_words = np.arange(windows, windows - n, -1).clip(2)
        words, slots = shapes.arrange(of_words)
        np.testing.assert_array_equal(words[slots], np.arange(n))
        size = sizes[n, windows] = len(words) // N_PIECES
        assert np.all(of_words <= np.take(shapes.places, slots // size))
    assert sizes[20, 6] == sizes[1, 3] == sizes[3, 50] == 3
    assert 3 < sizes[4, 50] <= sizes[40, 50] <= 50


def test_candidates_are_filled_up_with_other_words():
    shapes = FixedShapes.of_sample(SAMPLE, most_places=50)
    for n, expected in [(1, 13), (13, 13), (14, 17), (40, 40)]:
        candidates = np.arange(40 - n, 40)
        filled = shapes.fill(candidates, 40)
        np.testing.assert_array_equal(filled[:n], candidates)
        assert len(filled) == len({*filled} & {*range(40)}) == expected


@pytest.mark.parametrize("n_negatives", [None, 2])
def test_batches_of_fixed_shapes_hold_the_same(streams, n_negatives):  # noqa: F811
    streams = streams(n_negatives=n_negatives)
    places, shapes = streams.fixed_shapes(4).places, set()
    for (plain,), (fixed,) in zip(
        batches(streams, 1), batches(streams, 1, fixed_shapes=True), strict=True
    ):
        pieces = fixed["characters"]
        # 9 characters, and windows of up to 3.
        assert [p.shape[1] for p in pieces] == [n + 2 for n in places]
        rows = np.concatenate([np.pad(p, [(0, 0), (0, 9)])[:, :9] for p in pieces])
        whole = plain["characters"][plain["words"]]
        mask = (
            np.arange(9) < np.repeat(places, len(pieces[0]))[fixed["words"]][..., None]
        )
        np.testing.assert_array_equal(rows[fixed["words"]] * mask, whole * mask)
        if n_negatives:
            for name in ("negatives", "targets"):
                np.testing.assert_array_equal(
                    fixed["candidates"][fixed[name]], plain["candidates"][plain[name]]
                )
            n = len(plain["candidates"])
            expected = plain["log_expected"]
            np.testing.assert_array_equal(fixed["log_expected"][:, :n], expected)
        else:
            np.testing.assert_array_equal(fixed["targets"], plain["targets"])
        for name in ("weights", "from_zero", "seed", "n_predictions"):
            np.testing.assert_array_equal(fixed[name], plain[name])
        shapes.add((len(rows), len(fixed.get("candidates", ()))))
    assert len(shapes) <= 2
