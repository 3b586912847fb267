"""Bars in the style of the pages' figures; the README's are the table of speeds.

python -m tests.benchmarks.chart docs/pages/images/speed.svg
"""

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks import runner

PAGE = Path(__file__).parents[2] / "docs" / "pages" / "research" / "index.md"
BLUE, ORANGE = "#3f86d9", "#d8842f"
WIDTH, STEP, LONGEST = 440, 44, 230  # a phone's width shows the text in 12 pixels
STYLE = (
    ".c{fill:#f4f6fa}text{fill:#20283a}.m{fill:#566076}"
    "@media(prefers-color-scheme:dark){.c{fill:#262c39}text{fill:#e4e8f0}.m{fill:#aab3c6}}"
    ".b{font-weight:700}"
)


class Bar(NamedTuple):
    title: str
    value: float
    text: str  # beside the bar
    color: str = BLUE


def main(picture: Path, /) -> None:
    bars = speeds(PAGE.read_text(encoding="utf-8"))
    draw_bars("Times as fast as the faster older system, in float32", bars, picture)


def speeds(page: str) -> list[Bar]:
    """How many times as fast each row is of the table of `tokens a second`."""
    table = page.partition("| tokens a second |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (.+?) \| ([\d,]+) \| ([\d,]+) \| ([\d.]+) \|$", table, re.M)
    bars = []
    for title, ours, peer, ratio in rows:
        title = title.replace("`", "")
        color = ORANGE if title.endswith("int8") else BLUE
        bars.append(Bar(title, float(ratio), f"{ratio} × ({ours} : {peer})", color))
    return bars


def draw_bars(title: str, bars: Sequence[Bar], path: Path) -> None:
    """Writes bars as SVG, for light and dark pages."""
    height, most = STEP * len(bars) + 56, max(abs(bar.value) for bar in bars)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" '
        'font-family="Roboto,Helvetica,Arial,sans-serif" font-size="15">',
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>",
        f'<rect class="c" width="{WIDTH}" height="{height}" rx="10"/>',
        f'<text x="15" y="30" class="b">{html.escape(title)}</text>',
    ]
    for i, bar in enumerate(bars):
        y, width = STEP * i + 48, max(1, LONGEST * bar.value / most)
        lines += [
            f'<text x="15" y="{y + 14}">{html.escape(bar.title)}</text>',
            f'<rect x="15" y="{y + 20}" width="{width:.1f}" height="14" rx="2" fill="{bar.color}"/>',
            f'<text x="{21 + width:.1f}" y="{y + 32}" class="m">{html.escape(bar.text)}</text>',
        ]
    path.write_text("\n".join([*lines, "</svg>", ""]), encoding="utf-8")


if __name__ == "__main__":
    runner.run(main)
