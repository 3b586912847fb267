"""Where the checkout, its pages of documentation and the real data are."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("ELMO_KERAS_DATA", ROOT.parent / "shared" / "data"))

# Not the page of instructions that goes with an export.
PAGES = [
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", ".github/*.md", "docs/**/*.md", "tests/**/README.md")
    for path in sorted(ROOT.glob(pattern))
]
