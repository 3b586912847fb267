"""Where the checkout, its pages and the real data are; and what a folder holds."""

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


def contents(folder: Path) -> dict[str, bytes]:
    """Name → content of the files below a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
