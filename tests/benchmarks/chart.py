"""Draws the table of speeds of the research notes as the README's chart.

python -m tests.benchmarks.chart docs/pages/images/speed.png
"""

import re
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks import runner

PAGE = Path(__file__).parents[2] / "docs" / "pages" / "research" / "index.md"


class Speed(NamedTuple):
    """A row of the table: what was measured, tokens a second, and how many times the peer's."""

    title: str
    ours: str
    peer: str
    ratio: str


def main(picture: Path, /) -> None:
    draw(speeds(PAGE.read_text(encoding="utf-8")), picture)


def speeds(page: str) -> list[Speed]:
    """The rows of the table whose first column is `tokens a second`."""
    table = page.partition("| tokens a second |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (.+?) \| ([\d,]+) \| ([\d,]+) \| ([\d.]+) \|$", table, re.M)
    return [Speed(title.replace("`", ""), *numbers) for title, *numbers in rows]


def draw(rows: list[Speed], path: Path) -> None:
    """Draws how many times as fast each row is, with its numbers beside the bar."""
    from matplotlib.figure import Figure

    ratios = [float(row.ratio) for row in rows]
    figure = Figure(figsize=(8, 0.42 * len(rows) + 0.8), layout="constrained")
    axes = figure.subplots()
    colors = ["#ff8f00" if row.title.endswith("int8") else "#3f51b5" for row in rows]
    axes.barh(range(len(rows)), ratios, 0.65, color=colors)
    for i, row in enumerate(rows):
        numbers = f" {row.ratio} ×   {row.ours} : {row.peer}"
        axes.text(ratios[i], i, numbers, va="center")
    axes.axvline(1, color="#757575", linewidth=1)
    axes.set_yticks(range(len(rows)), [row.title for row in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.5 * max(ratios))
    axes.set_xlabel(
        "times as fast as the faster older system, which computes in float32"
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    runner.run(main)
