"""The curves of a training run: loss and held-out perplexity."""

from pathlib import Path

import numpy as np

from elmo_keras.training.progress import Progress


def draw_curves(progress: Progress, path: Path, loss_name: str) -> None:
    """Draws the loss and the held-out perplexity over the tokens read.

    Args:
        progress: the run's progress.
        path: file to write, `.png` or `.svg`.
        loss_name: name of the loss, for the title.

    Raises:
        ImportError: matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    training, held_out = figure.subplots(1, 2)
    tokens, losses = np.array(progress.losses).reshape(-1, 2).T
    training.plot(tokens, losses, color="tab:gray", linewidth=0.5, alpha=0.6)
    training.plot(*_smoothed(tokens, losses), color="black", label="smoothed")
    training.set(title=f"Training text: {loss_name}", ylabel="nats a token")
    training.legend(frameon=False)
    points = np.array(progress.held_out).reshape(-1, 3)
    for name, values, marker in zip(("forward", "backward"), points[:, 1:].T, "><"):
        held_out.plot(points[:, 0], values, marker=marker, label=name)
    held_out.set(title="Held-out text: full-softmax perplexity", yscale="log")
    ticks = _ticks(points[:, 1:])
    held_out.set_yticks(ticks, labels=[f"{t:g}" for t in ticks], minor=False)
    held_out.set_yticks([], minor=True)
    held_out.legend(frameon=False)
    for axes in (training, held_out):
        axes.set_xlabel("tokens read")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x / 1e6:g} M")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)


def _smoothed(x, y):
    """Means over neighbours, about fifty points in total."""
    width = max(1, len(y) // 50)
    n = len(y) // width * width
    return (a[:n].reshape(-1, width).mean(axis=1) for a in (x, y))


def _ticks(values):
    """Round numbers for a logarithmic axis that shows the values."""
    if not values.size:
        return []
    round_ones = np.outer(10.0 ** np.arange(0, 9), [1, 2, 5]).ravel()
    low, high = values.min(), values.max()
    return round_ones[(round_ones >= low / 2) & (round_ones <= high * 2)]
