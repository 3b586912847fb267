"""The curves of a training run."""

import re

import numpy as np

from elmo_keras.training.curves import _means, draw_curves
from elmo_keras.training.progress import Progress


def test_the_last_steps_of_an_epoch_do_not_dip():
    # Older checkpoints have a row for the last step of each epoch.
    epoch = [(1000, 5.0)] * 9 + [(3, 1.0)]
    tokens, losses = np.array(4 * epoch).T
    rows = np.stack([np.cumsum(tokens) - tokens, np.cumsum(tokens), losses], axis=1)
    for n_points in (40, 7):
        middles, means, width = _means(rows, n_points)
        assert width == tokens.sum() / n_points
        assert min(means) > 4.98 and (np.diff(middles) > 0).all()
    assert len(means) == 7


def test_a_point_is_the_mean_of_its_tokens():
    rows = np.array([[0, 10, 8.0], [10, 40, 4.0], [40, 60, 3.0], [60, 100, 1.0]])
    middles, means, width = _means(rows, 2)
    assert width == 50
    np.testing.assert_allclose(middles, [(5 + 75) / 4, (100 + 320) / 6])
    np.testing.assert_allclose(means, [(8 + 12) / 4, (6 + 4) / 6])


def test_the_picture_names_axes_units_and_means(tmp_path):
    progress = Progress(held_out=[(0, 900.0, 800.0), (1600, 90.0, 80.0)])
    for step in range(160):
        progress.add_step(9 - step / 40, 10)
    draw_curves(progress, tmp_path / "curves.svg", "sampled loss")
    shown = set(re.findall(r"<!-- (.+?) -->", (tmp_path / "curves.svg").read_text()))
    assert {
        "Training text: sampled loss",
        "nats a token",
        "tokens read in each direction",
        "perplexity",
        "mean of 100 tokens",
        "forward",
    } <= shown


def test_a_run_without_a_step_has_a_picture(tmp_path):
    draw_curves(Progress(held_out=[(0, 9.0, 8.0)]), tmp_path / "curves.svg", "loss")
    assert "perplexity" in (tmp_path / "curves.svg").read_text()
