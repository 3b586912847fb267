"""The score by the share of the training data: the paper's Figure 1."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_keras.util.markdown_table import (
    deviation,
    markdown_table,
    meaning_of_spread,
    percent_spread,
)
from elmo_keras.util.replacing import replacing


class Point(NamedTuple):
    """The scores for one share of the training data, one for each seed."""

    share: float  # above 0, at most 1
    examples: int
    baseline: list[float]
    elmo: list[float]


def shares_table(points: Sequence[Point], score: str) -> str:
    head = ["share", "examples", f"{score}, baseline", f"{score}, ELMo", "gain"]
    rows = [
        (
            f"{100 * point.share:g}%",
            f"{point.examples:,}",
            percent_spread(point.baseline),
            percent_spread(point.elmo),
            f"{100 * (np.mean(point.elmo) - np.mean(point.baseline)):+.2f}",
        )
        for point in points
    ]
    return markdown_table(head, rows)


def draw_shares(points: Sequence[Point], score: str, path: Path) -> None:
    """Draws both scores against the share, with the deviations that the table shows."""
    from matplotlib.figure import Figure

    points = sorted(points)
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    shares = [100 * point.share for point in points]
    curves = (
        ("with ELMo", [point.elmo for point in points], "o-", "black"),
        ("baseline", [point.baseline for point in points], "s--", "tab:gray"),
    )
    for name, scores, style, color in curves:
        means = [100 * np.mean(values) for values in scores]
        bars = [100 * deviation(values) for values in scores]
        look = {"fmt": style, "color": color, "label": name, "capsize": 3}
        axes.errorbar(shares, means, bars, **look)
    axes.set(xscale="log", xlabel="share of the training data", ylabel=f"{score} (%)")
    n_seeds = [len(values) for point in points for values in point[2:]]
    axes.set_title(meaning_of_spread(n_seeds), fontsize="medium")
    axes.set_xticks(shares, labels=[f"{share:g}%" for share in shares])
    axes.set_xticks([], minor=True)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=150)
