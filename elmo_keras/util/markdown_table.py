"""Tables of results in Markdown, also for model cards."""

from collections.abc import Iterable, Sequence

import numpy as np


def markdown_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], n_left: int = 1
) -> str:
    """A table in Markdown; the first `n_left` columns are aligned left, others right."""
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    rule = ["-" * width for width in widths[:n_left]]
    rule += ["-" * (width - 1) + ":" for width in widths[n_left:]]
    lines = []
    for row in [head, rule, *rows]:
        cells = [cell.ljust(width) for cell, width in zip(row[:n_left], widths)]
        cells += [cell.rjust(width) for cell, width in zip(row, widths)][n_left:]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def deviation(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def spread(values: Sequence[float], digits: int = 2) -> str:
    mean = f"{np.mean(values):.{digits}f}"
    return f"{mean} ± {deviation(values):.{digits}f}" if len(values) > 1 else mean


def percent_spread(scores: Sequence[float]) -> str:
    return spread([100 * score for score in scores])


def meaning_of_spread(n_seeds: Iterable[int]) -> str:
    """What values with a `spread` over seeds are, to be written on a picture."""
    n_seeds = list(n_seeds)
    fewest, most = min(n_seeds), max(n_seeds)
    if most == 1:
        return "one seed"
    number = str(most) if fewest == most else f"{fewest} to {most}"
    return f"mean ± standard deviation of {number} seeds"
