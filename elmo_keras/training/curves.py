"""The curves of a training run: loss and held-out perplexity."""

from pathlib import Path

import numpy as np

from elmo_keras.training.progress import Progress

FINE, COARSE = 400, 40  # points of the two curves of the loss


def draw_curves(progress: Progress, path: Path, loss_name: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    training, validation = figure.subplots(1, 2)
    _draw_loss(training, progress.loss_rows())
    training.set(title=f"Training text: {loss_name}", ylabel="nats a token")
    _draw_perplexity(validation, np.array(progress.held_out).reshape(-1, 3))
    validation.set(title="Held-out text: full softmax", ylabel="perplexity")
    for axes in (training, validation):
        axes.set_xlabel("tokens read in each direction")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x / 1e6:g} M")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)


def _draw_loss(axes, rows):
    if not len(rows):
        return
    thin = {"color": "tab:gray", "linewidth": 0.7, "alpha": 0.7}
    for n_points, style in ((FINE, thin), (COARSE, {"color": "black"})):
        tokens, means, width = _means(rows, n_points)
        label = f"mean of {float(f'{width:.2g}'):,.0f} tokens"
        axes.plot(tokens, means, label=label, **style)
    axes.legend(frameon=False)


def _means(rows, n_points):
    """Middles, means and number of tokens of stretches of about equally many tokens."""
    # The last steps of an epoch, when most rows of text have ended, have few tokens.
    first, end, losses = rows.T
    width = end[-1] / min(n_points, len(rows))
    middles = (first + end) / 2
    stretches = [middles // width == i for i in np.unique(middles // width)]
    means = [
        [np.average(x[some], weights=(end - first)[some]) for some in stretches]
        for x in (middles, losses)
    ]
    return *means, width


def _draw_perplexity(axes, points):
    for name, values, marker in zip(("forward", "backward"), points[:, 1:].T, "><"):
        axes.plot(points[:, 0], values, marker=marker, label=name)
    axes.set_yscale("log")
    ticks = _ticks(points[:, 1:])
    axes.set_yticks(ticks, labels=[f"{t:g}" for t in ticks], minor=False)
    axes.set_yticks([], minor=True)
    axes.legend(frameon=False)


def _ticks(values):
    """Round numbers for a logarithmic axis that shows the values."""
    if not values.size:
        return []
    round_ones = np.outer(10.0 ** np.arange(0, 9), [1, 2, 5]).ravel()
    low, high = values.min(), values.max()
    return round_ones[(round_ones >= low / 2) & (round_ones <= high * 2)]
