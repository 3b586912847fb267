"""The files of a published model, downloaded by pooch to its folder of the cache."""

import functools
import os
import sys
from pathlib import Path
from typing import Any

from elmo_keras.hub.cache import (
    OFFLINE,
    cache_folder,
    folder_name,
    is_offline,
    max_bytes,
    mirrored,
    only_writer,
)
from elmo_keras.hub.catalogue import HUB, OPTIONAL, OPTIONS, PublishedModel, RemoteFile
from elmo_keras.hub.hugging_face import download_from_hub
from elmo_keras.progress import Progress

TIMEOUTS = 10.0, 60.0  # seconds until there is a connection, and without a byte
CHUNK = 2**16  # bytes


def download_model(
    model: PublishedModel, *, with_extra: bool = False
) -> tuple[Path, Path | None]:
    """Downloads the files of a model that are not in the cache, `extra` ones on request.

    Returns the archive, or the folder of the files, and None; for files of other names at
    Hugging Face its options and its weights. A model of the package needs no download.
    """
    if model.unavailable:
        raise FileNotFoundError(
            f"{model.name} can't be downloaded: {model.unavailable}."
        )
    if model.in_package:
        return model.in_package, None
    if model.name.startswith(HUB):
        addresses = [file.address for file in model.files]
        folder, name = addresses[0].rsplit("/", 1)
        optional = [f"{folder}/{n}" for n in OPTIONAL] if name == OPTIONS else []
        path, *others = download_from_hub(addresses, optional)
        if name == OPTIONS:
            return path.parent, None
        return path, others[0] if others else None
    folder = cache_folder() / folder_name(model.name)
    for file in (*model.files, *(model.extra if with_extra else ())):
        download_file(file, folder)
    archive = len(model.files) == 1
    return folder / model.files[0].name if archive else folder, None


def download_file(file: RemoteFile, folder: Path) -> Path:
    """Downloads a file unless it is there; several processes may ask for it at once.

    A download that breaks off leaves nothing, and the next call starts again.
    """
    target = folder / file.name
    if target.exists():
        return target
    by_hand = (
        f"Download {file.address} by hand to {target}, or give the path of a model."
    )
    if is_offline():
        raise FileNotFoundError(
            f"There is no {target}, and {OFFLINE} forbids downloads. {by_hand}"
        )
    import pooch  # after the checks, because it and requests take a while
    import requests

    address = mirrored(file.address)
    pooch.get_logger().setLevel("WARNING")
    try:
        with only_writer(folder, f"Waiting for another download to {folder}."):
            if not target.exists():
                print(f"Downloading {address} to {target}", file=sys.stderr, flush=True)
                downloader: Any = functools.partial(_download, file=file)
                pooch.retrieve(
                    address, file.checksum, file.name, folder, downloader=downloader
                )
    except requests.RequestException as error:
        reason = getattr(error.args[0], "reason", error) if error.args else error
        text = f"{address} could not be downloaded: {reason}. {by_hand}"
        raise ConnectionError(text) from error
    except ValueError as error:
        text = f"{address} is not the right file: {error}. {by_hand}"
        raise ValueError(text) from error
    return target


def _download(address, output, pooch_object, *, file):
    """A downloader for pooch, which deletes the output after an error."""
    import pooch

    bar: Any = _BoundedBar(limit=file.size or max_bytes(file.name), unit="B")
    with bar:
        headers = {"User-Agent": "elmo-keras", "Accept-Encoding": "identity"}
        download = pooch.HTTPDownloader(
            bar,
            CHUNK,
            headers=headers,
            timeout=TIMEOUTS,
            hooks={"response": _refuse_less_secure},
        )
        download(address, output, pooch_object)
    size = os.path.getsize(output)
    if file.size is not None and size != file.size:
        raise ValueError(f"it should have {file.size:,} bytes. It has {size:,}")


def _refuse_less_secure(response, **_):
    target = response.headers.get("Location", "")
    if response.url.startswith("https:") and target.startswith("http:"):
        raise ValueError(f"it redirects to {target}, which is not https")


class _BoundedBar(Progress):
    """A bar that ends a download of more than `limit` bytes."""

    def __init__(self, limit, **options):
        super().__init__(**options)
        self._limit = limit

    def __bool__(self):
        return True  # tqdm's is False while the size is unknown, and pooch asks

    def update(self, n=1):
        # pooch counts whole chunks, of which the last one may be shorter.
        size = max(self.n + 1, self.total or 0)
        if size > self._limit:
            raise ValueError(
                f"it should have at most {self._limit:,} bytes. It has {size:,} or more"
            )
        return super().update(n)
