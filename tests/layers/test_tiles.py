"""The places of tokens in tiles."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.layers.tiles import ROWS as SIZES
from elmo_keras.layers.tiles import STEPS, tile_sentences

ROWS = max(SIZES)

LENGTHS = np.random.default_rng(0).integers(1, 2 * STEPS + 3, 2 * ROWS + 3)
LENGTHS[7] = 0


@pytest.mark.parametrize("reverse", [False, True])
def test_each_row_is_read_step_by_step_in_successive_tiles(reverse):
    tiles = tile_sentences(tf.constant(LENGTHS, tf.int32), reverse)
    places = tiles.places().numpy()
    assert len(set(places)) == LENGTHS.sum()
    blocks = set()
    for first, length in zip(np.cumsum(LENGTHS) - LENGTHS, LENGTHS):
        own = places[first : first + length]
        tile, step, row = own // (STEPS * ROWS), own // ROWS % STEPS, own % ROWS
        order = np.arange(length)[::-1] if reverse else np.arange(length)
        if length:
            begin = tile.min()
            np.testing.assert_array_equal((tile - begin) * STEPS + step, order)
            assert len(set(row)) == 1
            continuing = tiles.continuing.numpy()[begin : tile.max() + 1]
            np.testing.assert_array_equal(
                continuing > 0, np.arange(len(continuing)) > 0
            )
            blocks.add(begin)
    assert len(blocks) == 3


@pytest.mark.parametrize("sentences, rows", [(0, 2), (2, 2), (3, 8), (9, 32), (99, 32)])
def test_small_batches_have_small_tiles(sentences, rows):
    assert tile_sentences(tf.fill([sentences], STEPS)).rows == rows


def test_a_tile_has_the_steps_of_its_longest_row():
    tiles = tile_sentences(tf.constant(LENGTHS, tf.int32))
    steps = np.zeros(len(tiles.sizes), int)
    np.maximum.at(steps, tiles.tile.numpy(), tiles.step.numpy() + 1)
    np.testing.assert_array_equal(tiles.sizes, steps)


def test_values_are_at_their_places_and_zero_elsewhere():
    tiles = tile_sentences(tf.constant([2, 0, STEPS + 1]), reverse=True)
    values = tf.range(1, STEPS + 4)
    tiled = tiles.tiled(values).numpy()
    assert tiled.shape == (2, STEPS, 8)
    np.testing.assert_array_equal(tiled.ravel()[tiles.places()], values)
    assert np.count_nonzero(tiled) == len(values)
    assert tiled[:2, 0, :2].tolist() == [[STEPS + 3, 2], [3, 0]]
    filled = tiles.tokens().numpy()
    np.testing.assert_array_equal(filled, np.maximum(tiled - 1, 0))
