"""Finds the folder of a head: by a name of the package, a path, or on a hub."""

import os
from pathlib import Path

from elmo_keras.heads.head import HEAD, KERAS, MODEL
from elmo_keras.hub.catalogue import BOX, HEAD_FILES, HUB
from elmo_keras.hub.hugging_face import download_from_hub


def keras_file(model: str | Path) -> Path | None:
    """The `.keras` file at a path, or in a folder that `train-head` made without a head."""
    path = Path(model)
    if path.suffix == KERAS:
        return path
    has_head = (path / HEAD).is_file()
    return path / MODEL if (path / MODEL).is_file() and not has_head else None


def find_head(model: str | Path) -> Path:
    """The folder of a head: a path, a name of the package, or files of a hub."""
    path, name = Path(model), str(model)
    if (path / HEAD).is_file():
        return path
    if name in names():
        return BOX / name
    if name.startswith(HUB):
        files = [f"{name}/{file}" for file in HEAD_FILES]
        return download_from_hub(files[:2], files[2:])[0].parent
    raise FileNotFoundError(
        f"There is no pipeline {name:.200}. Give the folder of a head, a .keras file of "
        f"train-head, hf://OWNER/NAME, or a name: {', '.join(names()) or 'none yet'}."
    )


def is_head(model: str | Path) -> bool:
    """Whether a string or path names a head that is on this machine."""
    return str(model) in names() or (Path(model) / HEAD).is_file()


def absolute_head(model: str | Path) -> str:
    """The name of a head, or its path independent of the current directory."""
    is_path = keras_file(model) is not None or (Path(model) / HEAD).is_file()
    return os.path.realpath(model) if is_path else str(model)


def names() -> list[str]:
    """The names of the heads in the package."""
    return sorted(file.parent.name for file in BOX.glob(f"*/{HEAD}"))
