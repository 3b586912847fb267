"""Turns what names a model into files: a path, a published name or an address.

Published models are downloaded to their folders of the cache; `huggingface_hub` has its own.
"""

import hashlib
import os
from pathlib import Path

from elmo_keras.base.argument_checks import shortened
from elmo_keras.base.files import on_disk, replacing
from elmo_keras.base.messages import say
from elmo_keras.base.progress import Progress
from elmo_keras.hub.cache import (
    OFFLINE,
    cache_folder,
    folder_name,
    is_offline,
    max_bytes,
    mirrored,
    only_writer,
)
from elmo_keras.hub.catalogue import (
    HUB,
    OPTIONAL,
    OPTIONS,
    PublishedModel,
    RemoteFile,
    file_at,
    is_address,
    published_model,
    required_model,
)
from elmo_keras.hub.hugging_face import download_from_hub

TIMEOUTS = 10.0, 60.0  # seconds until there is a connection, and without a byte
CHUNK = 2**16  # bytes


def local_files(
    model: str | Path, weights: str | Path | None = None
) -> tuple[Path, Path | None]:
    """The paths of a model, downloaded if needed.

    A model is a path; or a string with the name of a published model, `nlpl:NUMBER`,
    `hf://OWNER/NAME[@REVISION]` or an `https://` address. A path that exists, or that is the
    prefix of a TensorFlow checkpoint, comes first. With `weights` both are single files.

    Returns without `weights` a model directory or archive and None, or options and weights
    at Hugging Face. A user's paths are returned whether they exist or not.
    """
    if weights is not None:
        return _single_file(model), _single_file(weights)
    if _is_path(model):
        return not_a_pipe(Path(model)), None
    return download_model(required_model(str(model)))


def not_a_pipe(path: Path) -> Path:
    """A path; a pipe, a socket or a device, which may never end, is refused."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(
            f"{path} should be a file or a folder. It is a pipe, a socket or a device. "
            "Copy its content to a file."
        )
    return path


def model_title(model: str | Path) -> str:
    """A short name for what names a model, fit for a file name.

    >>> model_title("models/en"), model_title("nlpl:161")
    ('en', 'nlpl-161')
    """
    published = None if _is_path(model) else published_model(str(model))
    return folder_name(published.name) if published else Path(absolute(model)).stem


def absolute(model: str | Path) -> str:
    """The name of a model, independent of the current directory."""
    if _is_path(model) or published_model(str(model)) is None:
        return os.path.realpath(model)
    return str(model)


def _is_path(model):
    """Whether a path is given, or a string that is one: also a checkpoint's prefix."""
    if not isinstance(model, (str, os.PathLike)) or not os.fspath(model):
        raise TypeError(
            "A model, and its weights, should be a path, a name or an address, each a "
            f"str or a Path. Received: {shortened(model)}"
        )
    is_path = isinstance(model, os.PathLike) or os.path.exists(model)
    return is_path or os.path.exists(f"{model}.index")


def _single_file(path):
    if _is_path(path) or not is_address(path):
        return not_a_pipe(Path(path))
    file = file_at(path)
    if path.startswith(HUB):
        return download_from_hub([path])[0]
    return download_file(file, cache_folder() / folder_name(path))


def download_model(
    model: PublishedModel, *, with_extra: bool = False
) -> tuple[Path, Path | None]:
    """Downloads what the cache lacks, `extra` files on request; returns as `local_files`."""
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
    is_archive = len(model.files) == 1
    return folder / model.files[0].name if is_archive else folder, None


def download_file(file: RemoteFile, folder: Path) -> Path:
    """Downloads a file unless it is there; several processes may ask for it at once.

    A download that breaks off leaves nothing, and the next call starts again.
    """
    target = folder / file.name
    if target.exists():
        return target
    by_hand = f"Download {file.address} by hand to {target}, or give a model's path."
    if is_offline():
        raise FileNotFoundError(
            f"There is no {target}, and {OFFLINE} forbids downloads. {by_hand}"
        )
    import requests  # after the checks, because it takes a while

    address = mirrored(file.address)
    try:
        with only_writer(folder, f"Waiting for another download to {folder}."):
            if not target.exists():
                say(f"Downloading {address} to {target}")
                target.parent.mkdir(exist_ok=True)
                with replacing(target) as new:
                    _download(address, new, file)
    except requests.RequestException as error:
        reason = getattr(error.args[0], "reason", error) if error.args else error
        text = f"{address} could not be downloaded: {reason}. {by_hand}"
        raise ConnectionError(text) from error
    except ValueError as error:
        text = f"{address} is not the right file: {error}. {by_hand}"
        raise ValueError(text) from error
    return target


def _download(address, path, file):
    """Writes the bytes of an address; refuses too many, or others than stated."""
    import requests

    limit, size = file.size or max_bytes(file.name), 0
    kind, _, checksum = (file.checksum or "sha256:").partition(":")
    digest, headers = hashlib.new(kind), {"Accept-Encoding": "identity"}
    headers["User-Agent"] = "elmo-keras"
    hooks = {"response": _refuse_less_secure}
    with (
        requests.get(
            address, stream=True, headers=headers, timeout=TIMEOUTS, hooks=hooks
        ) as response,
        on_disk(path) as output,
    ):
        response.raise_for_status()
        length = int(response.headers.get("Content-Length") or 0)
        with Progress(total=length or None, unit="B") as bar:
            for chunk in response.iter_content(CHUNK):
                size += len(chunk)
                if max(size, length) > limit:
                    raise ValueError(
                        f"it should have at most {limit:,} bytes. It has "
                        f"{max(size, length):,} or more"
                    )
                output.write(chunk)
                digest.update(chunk)
                bar.update(len(chunk))
    if file.size not in (None, size):
        raise ValueError(f"it should have {file.size:,} bytes. It has {size:,}")
    if checksum and checksum != digest.hexdigest():
        raise ValueError(f"its {kind} should be {checksum}, not {digest.hexdigest()}")


def _refuse_less_secure(response, **_):
    target = response.headers.get("Location", "")
    if response.url.startswith("https:") and target.startswith("http:"):
        raise ValueError(f"it redirects to {target}, which is not https")
