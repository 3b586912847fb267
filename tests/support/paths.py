"""Where the checkout, its pages of documentation and the real data are."""

import os
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("ELMO_KERAS_DATA", ROOT.parent / "shared" / "data"))


def unlinked(root: Path, patterns: Iterable[str]) -> list[Path]:
    """Files of a checkout, without those that are reached through its links."""
    real = root.resolve()
    paths = {path for pattern in patterns for path in root.glob(pattern)}
    return sorted(p for p in paths if p.resolve() == real / p.relative_to(root))


# Not the page of instructions that goes with an export.
PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in unlinked(
        ROOT, ["README.md", "CHANGELOG.md", "docs/**/*.md", "tests/**/README.md"]
    )
]
