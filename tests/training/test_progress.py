"""What the progress of a run records of its losses."""

import dataclasses
import json

import numpy as np
import pytest

from elmo_keras.training.progress import ROW_STEPS, Progress

# Loss and number of tokens of each step; the last steps of an epoch have few tokens.
EPOCH = [(5.0, 100), (4.0, 100), (3.0, 100), (1.0, 2)]
STEPS = 7 * EPOCH


def recorded(steps, progress=None):
    progress = progress or Progress()
    complete = [progress.add_step(*step) for step in steps]
    return progress, complete


def test_a_row_is_the_mean_of_ten_steps_weighted_by_their_tokens():
    progress, complete = recorded(STEPS)
    assert [i for i, c in enumerate(complete, 1) if c] == [10, 20]
    losses, tokens = np.array(STEPS).T
    rows = [
        (tokens[:end].sum(), np.average(losses[part], weights=tokens[part]))
        for end, part in ((10, slice(0, 10)), (20, slice(10, 20)))
    ]
    np.testing.assert_allclose(progress.losses, rows)
    assert progress.open_steps == 8 and progress.tokens == tokens.sum()


def test_an_interruption_changes_no_row():
    whole, _ = recorded(STEPS)
    for step in (3, ROW_STEPS, 17):
        before = dataclasses.asdict(recorded(STEPS[:step])[0])
        resumed = Progress(**json.loads(json.dumps(before)))
        recorded(STEPS[step:], resumed)
        assert np.array_equal(resumed.losses, whole.losses)
        assert resumed.open_loss == whole.open_loss


def test_loss_rows_cover_all_tokens():
    progress, _ = recorded(STEPS)
    first, end, means = progress.loss_rows().T
    assert first[0] == 0 and (first[1:] == end[:-1]).all()
    assert end[-1] == progress.tokens
    losses, tokens = np.array(STEPS).T
    assert means @ (end - first) == pytest.approx(losses @ tokens)
    assert Progress().loss_rows().shape == (0, 3)


def test_the_recent_loss_is_the_mean_of_a_hundred_steps():
    assert Progress().recent_loss() is None
    assert recorded(EPOCH[:2])[0].recent_loss() == 4.5
    steps = [(9.0, 7)] * 30 + [(float(i % 7), 1 + i) for i in range(100)] + [(1.0, 5)]
    losses, tokens = np.array(steps[30:130]).T
    expected = np.average(losses, weights=tokens)
    assert recorded(steps)[0].recent_loss() == pytest.approx(expected)


def test_the_progress_of_an_older_checkpoint_is_read():
    old = {
        "epoch": 1,
        "epoch_step": 0,
        "step": 14,
        "tokens": 1202,
        "seconds": 9.5,
        "losses": [[1000, 5.0], [1202, 4.0]],
        "held_out": [[0, 9.0, 9.0]],
        "best": None,
        "not_better": 0,
    }
    progress, complete = recorded(3 * EPOCH, Progress(**old))
    assert complete.index(True) == 9
    ends = [1000, 1202, 1202 + 804, 1202 + 906]
    assert progress.loss_rows()[:, 1].tolist() == ends
