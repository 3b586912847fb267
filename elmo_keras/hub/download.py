"""The files of a published model, downloaded to its folder of the cache."""

import sys
from pathlib import Path

from elmo_keras.hub.cache import (
    CACHE,
    OFFLINE,
    cache_folder,
    check_digest,
    folder_name,
    is_known,
    is_offline,
    mirrored,
)
from elmo_keras.hub.catalogue import PublishedModel, RemoteFile
from elmo_keras.hub.file_kinds import START, check_start, check_whole, kind_of
from elmo_keras.hub.file_names import OPTIONAL, OPTIONS
from elmo_keras.hub.hugging_face import hub_files
from elmo_keras.hub.transfer import Transfer, TransferFailed
from elmo_keras.util.locking import only_process


def download(
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
    if model.is_on_hub:
        addresses = [file.address for file in model.files]
        place, name = addresses[0].rsplit("/", 1)
        optional = [f"{place}/{n}" for n in OPTIONAL] if name == OPTIONS else []
        path, *others = hub_files(addresses, optional)
        if name == OPTIONS:
            return path.parent, None
        return path, others[0] if others else None
    folder = cache_folder() / folder_name(model.name)
    for file in (*model.files, *(model.extra if with_extra else ())):
        fetch(file, folder)
    return folder / model.files[0].name if model.is_archive else folder, None


def fetch(file: RemoteFile, folder: Path) -> Path:
    """Downloads a file unless it is there; several processes may ask for it at once."""
    target = folder / file.name
    if is_known(folder, file):
        return target
    if is_offline() and not target.exists():
        raise FileNotFoundError(
            f"There is no {target}, and {OFFLINE} forbids downloads. "
            f"{_by_hand(file, target)}"
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(error.errno, _unwritten(error, target.parent)) from error
    waiting = f"Waiting for another download to {folder}."
    with only_process(folder, waiting, wait=True):
        if target.exists():
            _check_present(file, folder)
        else:
            _download(file, folder)
    return target


def _check_present(file, folder):
    """Checks a file that was put there by hand, or changed."""
    path = folder / file.name
    try:
        with path.open("rb") as content:
            check_start(file.name, content.read(START))
        check_whole(file.name, path)
        check_digest(folder, file, path)
    except ValueError as error:
        raise ValueError(
            f"{path} is not what {file.address} should be: {error}. Delete it to "
            "download it again, or move it elsewhere and give its path."
        ) from error


def _download(file, folder):
    target, address = folder / file.name, mirrored(file.address)
    transfer = Transfer(
        address,
        target.with_name(f"{target.name}.part"),
        lambda start: check_start(file.name, start),
        kind_of(file.name)[-1] if file.size is None else file.size,
    )
    print(f"Downloading {address} to {target}", file=sys.stderr, flush=True)
    try:
        transfer.run()
        check_whole(file.name, transfer.part)
        check_digest(folder, file, transfer.part)
        transfer.put_in_place(target)
    except TransferFailed as error:
        text = f"{address} could not be downloaded: {error}. {_by_hand(file, target)}"
        raise ConnectionError(text) from error
    except ValueError as error:
        transfer.discard()
        text = f"{address} is not the right file: {error}. {_by_hand(file, target)}"
        raise ValueError(text) from error
    except OSError as error:
        text = f"{_unwritten(error, transfer.part)}. What is there is kept"
        raise OSError(error.errno, f"{text}: the same call resumes") from error


def _by_hand(file, target):
    return f"Download {file.address} by hand to {target}, or give the path of a model."


def _unwritten(error, path):
    reason = error.strerror or error
    return f"{reason}: {path} can't be written; {CACHE} names another folder"
