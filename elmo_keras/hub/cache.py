"""The folder of downloaded models: its settings, its records, and what lies in it.

A model's `.downloads.json` keeps the SHA-256, size and time of each of its files. The
content is read again only if size or time differ.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from elmo_keras.hub.catalogue import RemoteFile, is_address, published_model
from elmo_keras.util.locking import only_process
from elmo_keras.util.replacing import replacing

CACHE = "ELMO_KERAS_CACHE"
OFFLINE = "ELMO_KERAS_OFFLINE"
MIRROR = "ELMO_KERAS_MIRROR"
NO = "", "0", "false", "no", "off"
RECORDS = ".downloads.json"
# What reading records that are missing or damaged raises.
DAMAGES = AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError


def cache_folder() -> Path:
    """`ELMO_KERAS_CACHE`, or `elmo_keras` in Keras' folder, `KERAS_HOME` or `~/.keras`."""
    if folder := os.environ.get(CACHE):
        return Path(folder).expanduser().absolute()
    keras_home = os.environ.get("KERAS_HOME") or "~/.keras"
    return Path(keras_home).expanduser().absolute() / "elmo_keras"


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


def folder_name(name: str) -> str:
    """The name of a model's folder: its own, or shortened with a digest of its address."""
    short = re.sub(r"[^\w.-]+", "-", name.removeprefix("https://")).strip("-.")
    if not is_address(name):
        return short
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{short[-60:].strip('-.')}-{digest}"


def records(folder: Path) -> dict[str, Any]:
    """Name → `address`, `sha256`, `size` and `time` of each file of a folder."""
    kinds = {"address": str, "sha256": str, "size": int, "time": int}
    try:
        content = json.loads((folder / RECORDS).read_text(encoding="utf-8"))
        files = content.items()
        return {
            name: {key: about[key] for key in kinds}
            for name, about in files
            if all(isinstance(about[key], kind) for key, kind in kinds.items())
        }
    except DAMAGES:
        return {}


def is_known(folder: Path, file: RemoteFile) -> bool:
    """Whether a file is there and unchanged, judged by its size and time."""
    path = folder / file.name
    known = records(folder).get(file.name)
    return path.exists() and known is not None and _times(path).items() <= known.items()


def check_digest(folder: Path, file: RemoteFile, path: Path) -> None:
    """Checks the size and digests of a content, and keeps the SHA-256 of the first one."""
    stated, _, expected = file.checksum.partition(":")
    if stated and (found := _digest(path, stated)) != expected:
        raise ValueError(
            f"its {stated.upper()} should be {expected}, as its publisher states. "
            f"Found: {found}"
        )
    if file.size is not None and path.stat().st_size != file.size:
        raise ValueError(
            f"it should have {file.size:,} bytes. Found: {path.stat().st_size:,}"
        )
    digest = _digest(path, "sha256")
    kept = records(folder)
    first = kept.get(file.name, {}).get("sha256", digest)
    if first != digest:
        raise ValueError(
            f"its SHA-256 was {first:.64} when it was first downloaded, and is now {digest}"
            f" (if its publisher has replaced it, delete {folder / RECORDS})"
        )
    kept[file.name] = {"address": file.address, "sha256": digest} | _times(path)
    with contextlib.suppress(PermissionError), replacing(folder / RECORDS) as temporary:
        temporary.write_text(json.dumps(kept, indent=2), encoding="utf-8")


def _times(path):
    about = path.stat()
    return {"size": about.st_size, "time": about.st_mtime_ns}


def _digest(path, algorithm):
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def cached_folders() -> dict[Path, int]:
    """Folder → bytes of each model in the cache, unfinished downloads included."""
    cache = cache_folder()
    folders = sorted(cache.iterdir()) if cache.is_dir() else []
    sizes = {
        folder: sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
        for folder in folders
    }
    return {folder: size for folder, size in sizes.items() if size}


def source(folder: Path) -> str:
    """The address of the largest file in a folder of the cache, or ""."""
    known = records(folder).values()
    return max(known, key=lambda file: file["size"])["address"] if known else ""


def cached_folder(name: str) -> Path:
    """The folder of a model in the cache or in the package, by its name or the folder's."""
    found = {folder.name: folder for folder in cached_folders()}
    model = None if name in found else published_model(name)
    if model and model.in_package:
        return model.in_package
    folder = found.get(folder_name(model.name) if model else name)
    if folder is None:
        there = ", ".join(found) or "nothing"
        hub = model and model.is_on_hub and " `hf cache` manages that of Hugging Face."
        raise ValueError(
            f"{name} is not in the cache, {cache_folder()}, which holds {there}."
            f"{hub or ''}"
        )
    return folder


def remove(name: str) -> Path:
    """Deletes a model in the cache; returns its folder, see `cached_folder`."""
    folder = cached_folder(name)
    if not folder.is_relative_to(cache_folder()):
        raise ValueError(f"{name} is part of the package, and stays there.")
    with only_process(folder, f"{folder} is in use by a download."):
        shutil.rmtree(folder)
    return folder
