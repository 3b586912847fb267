"""Finds a head: by a path, a name of the package, or an address on a hub."""

import os
from pathlib import Path

from elmo_keras.heads.head import HEAD, KERAS, MODEL
from elmo_keras.hub.catalogue import BOX, HEAD_FILES, HUB
from elmo_keras.hub.hugging_face import download_from_hub


def find_head(model: str | Path) -> Path:
    """The folder of a head, or a `.keras` file: at a path, in the package, or on a hub."""
    name = str(model)
    if path := local_head(model):
        return path
    if name.startswith(HUB):
        files = [f"{name}/{file}" for file in HEAD_FILES]
        return download_from_hub(files[:2], files[2:])[0].parent
    raise FileNotFoundError(
        f"There is no pipeline {name:.200}. Give the folder of a head, a .keras file of "
        f"train-head, hf://OWNER/NAME, or a name: {', '.join(names()) or 'none yet'}."
    )


def local_head(model: str | Path) -> Path | None:
    """A head on this machine: its folder, or the `.keras` file that `train-head` left alone."""
    path = Path(model)
    if path.suffix == KERAS or (path / HEAD).is_file():
        return path
    if (path / MODEL).is_file():
        return path / MODEL
    return BOX / path if str(model) in names() else None


def absolute_head(model: str | Path) -> str:
    """The name of a head, or its path independent of the current directory."""
    path = local_head(model)
    is_name = path is None or path.parent == BOX
    return str(model) if is_name else os.path.realpath(model)


def names() -> list[str]:
    """The names of the heads in the package."""
    return sorted(file.parent.name for file in BOX.glob(f"*/{HEAD}"))
