"""The batches of training and their negatives, against plain Python and TensorFlow."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Vocabulary
from elmo_keras.text.windows import window
from elmo_keras.training.streams import N_PIECES, FixedShapes, Streams, draw_negatives
from tests.support import reference
from tests.text.test_windows import CORPUS, SENTENCES

VOCABULARY = Vocabulary.count(SENTENCES, min_count=2)
WORDS = ("<S>", "</S>", *"abcdefghijkl")


@pytest.fixture
def streams(config):
    sizes = {"n_rows": 4, "unroll_steps": 5, "zero_state_share": 0.5, "seed": 3}
    return lambda **changes: Streams(CORPUS, VOCABULARY, config, **sizes | changes)


def batches(streams, *args, **kwargs):
    return list(streams.batches(*args, **kwargs).as_numpy_iterator())


def assert_all_same(actual, expected):
    """Batches of one part each hold the same arrays."""
    for (a,), (b,) in zip(actual, expected, strict=True):
        assert_same(a, b)


def strings(batch):
    """The words of a batch by their characters."""
    names = {reference.character_ids(w, 9).astype("int32").tobytes(): w for w in WORDS}
    words = np.array([names[row.tobytes()] for row in batch["characters"]])
    assert len(set(words)) == len(words)  # each distinct word once
    return words[batch["words"]]


def assert_same(a, b):
    assert a.keys() == b.keys()
    for key in a:
        np.testing.assert_array_equal(a[key], b[key], err_msg=key)


@pytest.mark.parametrize("n_negatives", [None, 2])
def test_batches_hold_what_the_windows_hold(streams, n_negatives):
    streams = streams(n_negatives=n_negatives)
    steps = batches(streams, 1)
    assert len(steps) == streams.n_steps(1) > 1
    for step, (batch,) in enumerate(steps):
        expected = window(CORPUS, streams.plan(1), step, unroll_steps=5)
        words = np.array(CORPUS.words)
        np.testing.assert_array_equal(strings(batch), words[expected.inputs])
        targets = batch["targets"]
        if n_negatives:
            assert len(set(batch["candidates"])) == len(batch["candidates"])
            targets = batch["candidates"][targets]
        ids = VOCABULARY.encode(words[expected.targets].ravel())
        np.testing.assert_array_equal(targets, ids.reshape(targets.shape))
        np.testing.assert_array_equal(batch["weights"], expected.real)
        np.testing.assert_array_equal(batch["from_zero"], expected.from_zero)
        assert batch["n_predictions"] == expected.real.sum()
    total = sum(batch["n_predictions"] for (batch,) in steps)
    assert total == CORPUS.n_predictions
    n_zero = sum(batch["from_zero"].sum() for (batch,) in steps)
    assert 0 < n_zero == streams.plan(1).from_zero.sum() < len(SENTENCES)


def test_negatives_are_distinct_words_with_their_expected_counts(streams):
    drawn = set()
    for (batch,) in batches(streams(n_negatives=3), 0):
        assert batch["negatives"].shape == (2, 3)
        assert batch["log_expected"].shape == (2, len(batch["candidates"]))
        assert np.all(batch["log_expected"] <= 0)
        for negatives in batch["candidates"][batch["negatives"]]:
            assert len(set(negatives)) == 3 and max(negatives) < len(VOCABULARY)
            drawn.add(tuple(negatives))
    assert len(drawn) > 2  # directions and steps draw independently


def test_negatives_and_dropout_depend_on_the_seed(streams):
    def drawn(seed, name):
        rows = batches(streams(n_negatives=2, seed=seed), 1)
        return [batch[name].tolist() for (batch,) in rows]

    for name in "negatives", "seed":
        assert drawn(0, name) == drawn(0, name) != drawn(1, name)


def test_an_epoch_can_start_at_any_step(streams):
    whole = batches(streams(n_negatives=2), 2)
    rest = batches(streams(n_negatives=2), 2, 3)
    assert len(rest) == len(whole) - 3 > 0
    assert_all_same(rest, whole[3:])


@pytest.mark.parametrize(
    ("n_negatives", "n_replicas", "n_parts"), [(None, 2, 1), (2, 2, 2), (2, 1, 4)]
)
def test_parts_of_replicas_are_the_batch(streams, n_negatives, n_replicas, n_parts):
    whole = batches(streams(n_negatives=n_negatives), 0)
    context = tf.distribute.InputContext(1, 0, n_replicas)
    streams = streams(n_negatives=n_negatives)
    divided = batches(streams, n_parts=n_parts, epoch=0, context=context)
    assert len(divided) == n_replicas * len(whole)
    shared = {"n_predictions", "candidates", "negatives", "log_expected"}
    for step, (batch,) in enumerate(whole):
        elements = divided[step * n_replicas : (step + 1) * n_replicas]
        assert [len(parts) for parts in elements] == [n_parts] * n_replicas
        parts = [part for parts in elements for part in parts]
        for part in parts:
            assert part.keys() == batch.keys()
            assert_same(*({k: p[k] for k in shared & p.keys()} for p in (part, batch)))

        words = np.concatenate([strings(part) for part in parts], axis=1)
        np.testing.assert_array_equal(words, strings(batch))
        for name, axis in (("targets", 1), ("weights", 0), ("from_zero", 0)):
            joined = np.concatenate([part[name] for part in parts], axis=axis)
            np.testing.assert_array_equal(joined, batch[name])
        assert len({tuple(part["seed"]) for part in parts}) == len(parts)


def test_a_worker_gets_the_batches_of_its_replicas(streams):
    contexts = (tf.distribute.InputContext(*of) for of in ((1, 0, 4), (2, 1, 4)))
    source = streams(n_negatives=2)
    whole, some = (batches(source, 0, 1, context=context) for context in contexts)
    assert_all_same(some, [e for i, e in enumerate(whole) if i % 4 in (2, 3)])


SIZE, N, DRAWS = 50, 7, 4000


def test_words_are_drawn_as_often_as_expected():
    rng = np.random.default_rng(0)
    drawn = [draw_negatives(rng, N, SIZE) for _ in range(DRAWS)]
    counts = np.bincount(np.concatenate([n.ids for n in drawn]), minlength=SIZE)
    logs = [n.log_expected_counts(np.arange(SIZE)) for n in drawn]
    assert logs[0].dtype == np.float32
    expected = np.exp(logs).mean(axis=0)
    # Stopping at the N-th distinct word makes the expectation a little wrong, by
    # less than 0.01; five standard deviations of 4,000 draws are below 0.04.
    np.testing.assert_allclose(counts / DRAWS, expected, atol=0.05)
    assert counts.sum() == N * DRAWS and expected.sum() == pytest.approx(N, rel=0.02)


def test_all_words_but_one_can_be_drawn():
    size = 40
    negatives = draw_negatives(np.random.default_rng(0), size - 1, size)
    assert len(set(negatives.ids)) == size - 1 and max(negatives.ids) < size
    assert np.isfinite(negatives.log_expected_counts(np.arange(size))).all()


SAMPLE = [(np.array([3, 9, 4, 4, 5]), 10), (np.full(20, 6), 12)]


def test_a_sample_fits_the_first_size_and_others_the_smallest_one_with_room():
    shapes = FixedShapes.from_sample(SAMPLE, max_windows=50)
    assert shapes == FixedShapes(3, (50, 7, 7, 7, 7, 7, 7, 1 + 1), 13)
    sizes = {}
    for n, windows in [(20, 6), (24, 6), (25, 6), (3, 50), (4, 50), (40, 50), (1, 3)]:
        word_windows = np.arange(windows, windows - n, -1).clip(2)
        words, slots = shapes.arrange(word_windows)
        np.testing.assert_array_equal(words[slots], np.arange(n))
        size = sizes[n, windows] = len(words) // N_PIECES
        assert np.all(word_windows <= np.take(shapes.windows_of_pieces, slots // size))
    assert sizes[20, 6] == sizes[1, 3] == sizes[3, 50] == 3
    assert 3 < sizes[4, 50] <= sizes[40, 50] <= 50


def test_candidates_are_filled_up_with_other_words():
    shapes = FixedShapes.from_sample(SAMPLE, max_windows=50)
    for n, expected in [(1, 13), (13, 13), (14, 17), (40, 40)]:
        candidates = np.arange(40 - n, 40)
        filled = shapes.fill(candidates, 40)
        np.testing.assert_array_equal(filled[:n], candidates)
        assert len(filled) == len({*filled} & {*range(40)}) == expected


@pytest.mark.parametrize("n_negatives", [None, 2])
def test_batches_of_fixed_shapes_hold_the_same(streams, n_negatives):
    streams = streams(n_negatives=n_negatives)
    windows_of_pieces, shapes = streams.fixed_shapes(4).windows_of_pieces, set()
    for (plain,), (fixed,) in zip(
        batches(streams, 1), batches(streams, 1, fixed_shapes=True), strict=True
    ):
        pieces = fixed["characters"]
        # 9 characters, and windows of up to 3.
        assert [p.shape[1] for p in pieces] == [n + 2 for n in windows_of_pieces]
        rows = np.concatenate([np.pad(p, [(0, 0), (0, 9)])[:, :9] for p in pieces])
        whole = plain["characters"][plain["words"]]
        ends = np.repeat(windows_of_pieces, len(pieces[0]))[fixed["words"]]
        mask = np.arange(9) < ends[..., None]
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
