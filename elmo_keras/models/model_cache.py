"""What lies in the cache of downloaded models, and removing it."""

import shutil
from pathlib import Path

from elmo_keras.cli.locking import only_process
from elmo_keras.models.cache_settings import cache_folder
from elmo_keras.models.catalogue import published_model
from elmo_keras.models.digests import records
from elmo_keras.models.download import folder_of


def cached_folders() -> dict[Path, int]:
    """Folder → bytes of each model in the cache, unfinished downloads included."""
    cache = cache_folder()
    folders = sorted(cache.iterdir()) if cache.is_dir() else []
    sizes = {folder: _bytes(folder) for folder in folders if folder.is_dir()}
    return {folder: size for folder, size in sizes.items() if size}


def source(folder: Path) -> str:
    """The address of the largest file in a folder of the cache, or ""."""
    known = records(folder).values()
    return max(known, key=lambda file: file["size"])["address"] if known else ""


def remove(name: str) -> Path:
    """Deletes a model from the cache.

    Args:
        name: what was downloaded (see `catalogue.published_model`), or the name of its
            folder.

    Returns:
        The folder that was deleted.

    Raises:
        ValueError: it is not in the cache, or is being downloaded.
        OSError: it can't be deleted.
    """
    found = {folder.name: folder for folder in cached_folders()}
    model = None if name in found else published_model(name)
    folder = found.get(folder_of(model).name if model else name)
    if folder is None:
        there = ", ".join(found) or "nothing"
        raise ValueError(
            f"{name} is not in the cache, {cache_folder()}, which holds {there}."
        )
    with only_process(folder, f"{folder} is in use by a download."):
        shutil.rmtree(folder)
    return folder


def _bytes(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return sum(path.stat().st_size for path in files)
