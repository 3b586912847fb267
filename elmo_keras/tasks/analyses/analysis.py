"""What the commands of the analyses share: how they end, and how a table looks."""

import sys
from collections.abc import Callable, Sequence

import numpy as np

from elmo_keras.stopping import INTERRUPTED


def run(program: str, analyse: Callable[[], int]) -> int:
    """Runs a command; errors of its input become a line on standard error.

    Args:
        program: the name in front of the line.
        analyse: returns the exit status.

    Returns:
        The exit status: 2 where arguments or data are wrong, 1 where training failed.
    """
    try:
        return analyse()
    except (ValueError, OSError, ImportError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    except FloatingPointError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{program}: Interrupted.", file=sys.stderr)
        return INTERRUPTED


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown whose columns stand below each other.

    Args:
        head: names of the columns.
        rows: the cells; the first one of each row stands to the left.
    """
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(_line(row, widths) for row in [head, rule, *rows])


def _line(row, widths):
    first, *others = zip(row, widths)
    cells = [first[0].ljust(first[1]), *(cell.rjust(w) for cell, w in others)]
    return f"| {' | '.join(cells)} |"


def spread(values: Sequence[float]) -> str:
    """Shares as percentages: mean ± standard deviation, or the only one."""
    values = 100 * np.asarray(values)
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{values.mean():.2f} ± {values.std(ddof=1):.2f}"
