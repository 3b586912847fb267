"""Where the checkout and the real data are."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("ELMO_KERAS_DATA", ROOT.parent / "shared" / "data"))
