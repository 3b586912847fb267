"""Where downloaded files are kept, and where they come from: the environment's settings.

`ELMO_KERAS_CACHE`, `ELMO_KERAS_OFFLINE` and `ELMO_KERAS_MIRROR` are read at each use.
"""

import os
from pathlib import Path
from urllib.parse import urlsplit

CACHE, OFFLINE, MIRROR = (
    "ELMO_KERAS_CACHE",
    "ELMO_KERAS_OFFLINE",
    "ELMO_KERAS_MIRROR",
)
NO = "", "0", "false", "no", "off"


def cache_folder() -> Path:
    """The folder of all downloaded models.

    `ELMO_KERAS_CACHE`, or the folder `elmo_keras` in Keras' own (`KERAS_HOME`, by
    default `~/.keras`).
    """
    if folder := os.environ.get(CACHE):
        return Path(folder).expanduser().absolute()
    keras_home = os.environ.get("KERAS_HOME") or "~/.keras"
    return Path(keras_home).expanduser().absolute() / "elmo_keras"


def is_offline() -> bool:
    """Whether `ELMO_KERAS_OFFLINE` forbids downloads."""
    return os.environ.get(OFFLINE, "").strip().casefold() not in NO


def mirrored(address: str) -> str:
    """The address to download from: that of the mirror, if one is set.

    `ELMO_KERAS_MIRROR=https://mirror/base` turns `https://host/path?query` into
    `https://mirror/base/host/path`, the layout of `wget --force-directories`.

    Raises:
        ValueError: the mirror is no http or https address.
    """
    mirror = os.environ.get(MIRROR)
    if not mirror:
        return address
    if not mirror.startswith(("http://", "https://")):
        raise ValueError(
            f"{MIRROR} should start with https:// or http://. Received: {mirror}"
        )
    parts = urlsplit(address)
    return f"{mirror.rstrip('/')}/{parts.netloc}{parts.path}"
