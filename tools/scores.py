"""Scores of the package's pipelines: one file, and the texts that print it.

    python -m tools.scores [FOLDER]

Fills the tables of the cards in a folder of heads with its `scores.json`, and for the
package's own, the default, those of README and of the page on pipelines. A table stands
between `<!-- scores: PIPELINE … -->` and `<!-- end -->`; `<!-- scores: PIPELINE …, WORDS -->`
takes only the rows whose text has all of WORDS, which commas separate.
"""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from elmo_keras.base.markdown_table import markdown_table

ROOT = Path(__file__).parent.parent
BOX = ROOT / "elmo_keras" / "box"
PAGES = ROOT / "README.md", ROOT / "docs" / "pages" / "how-to" / "annotate.md"
TABLE = re.compile(r"(<!-- scores: (.+?) -->\n).*?(\n<!-- end -->)", re.S)
# The text of the part `dev` chose the epoch, that of `test` nothing; scores are per cent.
LEFT = "pipeline", "text", "part", "score", "also"
RIGHT = "elmo-keras", "spaCy"


def with_scores(text: str, rows: Sequence[dict]) -> str:
    """A text whose tables hold the scores of the pipelines that they name."""
    return TABLE.sub(
        lambda match: f"{match[1]}\n{table(rows, match[2])}\n{match[3]}", text
    )


def table(rows: Sequence[dict], choice: str) -> str:
    """The rows of some pipelines; further sentences are for the card of a single one."""
    listed, *words = choice.split(", ")
    names = listed.split()
    rows = [row for row in rows if row["pipeline"] in names]
    rows = [row for row in rows if all(word in row["text"] for word in words)]
    hidden = "pipeline" if len(names) == 1 else "also"
    left = [key for key in LEFT if key != hidden and any(key in row for row in rows)]
    right = [key for key in RIGHT if any(key in row for row in rows)]
    cells = [
        [row.get(key, "") for key in left]
        + [f"{row[key]:.1f}" if key in row else "–" for key in right]
        for row in rows
    ]
    return markdown_table([*left, *right], cells, n_left=len(left))


def texts_of(folder: Path) -> list[Path]:
    return [*folder.glob("*/model_card.md"), *(PAGES if folder == BOX else ())]


def main(folder: Path = BOX) -> None:
    rows = json.loads((folder / "scores.json").read_text("utf-8"))
    for path in texts_of(folder):
        text = path.read_text("utf-8")
        path.write_text(with_scores(text, rows), encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
