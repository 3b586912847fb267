"""Files of pictures: their names, checked before the work."""

import importlib.util
from collections.abc import Iterable
from pathlib import Path

from elmo_keras.cli.outputs import check_apart, check_file

SUFFIXES = tuple(
    ".png .svg .svgz .pdf .eps .ps .jpg .jpeg .tif .tiff .webp".split()
)  # that matplotlib writes without further programs


def check_picture(path: Path, inputs: Iterable[Path]) -> None:
    """Refuses a path that matplotlib can't write a picture to.

    Args:
        path: the file; its suffix, in upper or lower case, gives the format.
        inputs: files and folders that are read.

    Raises:
        ValueError: there is no such format, the picture would change an input, or no
            file can be written there.
        OSError: the disk is full or fails.
        ImportError: matplotlib is not installed.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"A picture should end in one of {' '.join(SUFFIXES)}. Received: {path}"
        )
    check_apart([path], inputs)
    check_file(path)
    if importlib.util.find_spec("matplotlib") is None:
        raise ImportError("A picture needs matplotlib: pip install matplotlib")
