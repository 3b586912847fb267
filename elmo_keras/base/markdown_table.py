"""Tables in Markdown, which commands print and model cards hold."""

from collections.abc import Sequence


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
