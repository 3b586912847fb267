"""The folder of downloaded models, and what bounds a download."""

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from elmo_keras.base.files import only_process
from elmo_keras.hub.catalogue import HUB, MAX_OPTIONS, is_address, published_model

CACHE = "ELMO_KERAS_CACHE"
OFFLINE = "ELMO_KERAS_OFFLINE"
MIRROR = "ELMO_KERAS_MIRROR"
NO = "", "0", "false", "no", "off"
LITERT, UNPACKED = "litert", "unpacked"  # folders of files that are no downloads


def cache_folder() -> Path:
    """`ELMO_KERAS_CACHE`, or `elmo_keras` in Keras' folder, `KERAS_HOME` or `~/.keras`."""
    if folder := os.environ.get(CACHE):
        return Path(folder).expanduser().absolute()
    keras_home = os.environ.get("KERAS_HOME") or "~/.keras"
    return Path(keras_home).expanduser().absolute() / "elmo_keras"


@contextlib.contextmanager
def only_writer(folder: Path, message: str) -> Iterator[None]:
    """Locks a folder in the cache, see `only_process`; says what to do if it can't."""
    try:
        with only_process(folder, message, wait=True):
            yield
    except OSError as error:
        path = Path(error.filename or "")
        if not (path.is_relative_to(folder) or folder.is_relative_to(path)):
            raise
        text = (
            f"{error.strerror}: {path} can't be written; {CACHE} names another folder"
        )
        raise OSError(error.errno, text) from error


def is_offline() -> bool:
    return os.environ.get(OFFLINE, "").strip().casefold() not in NO


def mirrored(address: str) -> str:
    """The address to download from: as `wget --force-directories` names it on a mirror."""
    mirror = os.environ.get(MIRROR)
    if not mirror:
        return address
    if not mirror.startswith(("http://", "https://")):
        raise ValueError(
            f"{MIRROR} should start with https:// or http://. Received: {mirror}"
        )
    parts = urlsplit(address)
    return f"{mirror.rstrip('/')}/{parts.netloc}{parts.path}"


def max_bytes(name: str) -> int:
    """The maximum size of a file, ten times the size of the largest published one."""
    return {".json": MAX_OPTIONS, ".txt": 2**30}.get(Path(name).suffix, 2**34)


def folder_name(name: str) -> str:
    """The folder of a model in the cache: its name, or a short address and its digest."""
    short = re.sub(r"[^\w.-]+", "-", name.removeprefix("https://")).strip("-.")
    if not is_address(name):
        return short
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{short[-60:].strip('-.')}-{digest}"


def converted_folder() -> Path:
    """The folder of models for LiteRT, each made at its first use."""
    return cache_folder() / LITERT


def remove_converted(most: int = 0) -> int:
    """Deletes models for LiteRT, except those used last, up to `most` bytes.

    The last one always stays, unless `most` is 0. Returns the bytes.
    """
    total = removed = 0
    files = [(path, path.stat()) for path in converted_folder().glob("*.tflite")]
    for path, status in sorted(files, key=lambda file: -file[1].st_mtime_ns):
        is_last, total = not total, total + status.st_size
        if total > most and not (most and is_last):
            with contextlib.suppress(OSError):  # Windows deletes none that is in use
                path.unlink()
                removed += status.st_size
    return removed


def cached_models() -> dict[str, int]:
    """Folder → bytes of each model in the cache, unfinished downloads included."""
    cache = cache_folder()
    folders = sorted(cache.iterdir()) if cache.is_dir() else []
    sizes = {
        folder.name: sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
        for folder in folders
        if folder.name not in (LITERT, UNPACKED)
    }
    return {name: size for name, size in sizes.items() if size}


def model_folder(name: str) -> Path:
    """The folder of a model in the cache or in the package, by its name or the folder's."""
    folders = cached_models()
    if name in folders:
        return cache_folder() / name
    model = published_model(name)
    if model and model.in_package:
        return model.in_package
    if model and folder_name(model.name) in folders:
        return cache_folder() / folder_name(model.name)
    hub = " `hf cache` manages that of Hugging Face." * name.startswith(HUB)
    names = ", ".join(folders) or "nothing"
    raise ValueError(
        f"{name} is not in the cache, {cache_folder()}, which holds {names}.{hub}"
    )


def remove_model(name: str) -> Path:
    """Deletes a model in the cache; returns its folder, see `model_folder`."""
    folder = model_folder(name)
    if not folder.is_relative_to(cache_folder()):
        raise ValueError(f"{name} is part of the package, and stays there.")
    with only_process(folder, f"{folder} is in use by a download."):
        pass  # Windows deletes no file that is open, such as that of the lock.
    shutil.rmtree(folder)
    return folder
