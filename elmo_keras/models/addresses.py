"""Models that are named by an address: `https://…` and `hf://OWNER/NAME`."""

import hashlib
import re
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from elmo_keras.models.file_names import OPTIONS, WEIGHTS
from elmo_keras.models.published_model import (
    ARCHIVES,
    PublishedModel,
    RemoteFile,
    archive,
    options_and_weights,
)

HUGGING_FACE = "https://huggingface.co/{}/{}/resolve/main/"


def is_address(name: str) -> bool:
    """Whether a string is an address rather than a path or a name."""
    return "://" in name


def model_at(address: str) -> PublishedModel:
    """The model at an address.

    Args:
        address: of an archive, of `…options.json` with `…weights.hdf5` beside it, or
            of a folder with `options.json` and `weights.hdf5`; `hf://OWNER/NAME` is
            such a folder, and `hf://OWNER/NAME/FILE` a file of it.

    Raises:
        ValueError: it is neither http, https nor hf, or names no host or repository.
    """
    url = checked(_hugging_face(address))
    if _ending(url).endswith(ARCHIVES):
        return PublishedModel(address, "not stated", archive(url), "archive")
    parts = urlsplit(url)
    if not parts.path.endswith(OPTIONS):
        folder = parts.path.rstrip("/")
        parts = parts._replace(path=f"{folder}/{OPTIONS}")
    weights = parts.path.removesuffix(OPTIONS) + WEIGHTS
    files = options_and_weights(parts.geturl(), parts._replace(path=weights).geturl())
    return PublishedModel(address, "not stated", files)


def file_at(address: str) -> RemoteFile:
    """The single file at an address, in the folder `files`.

    Raises:
        ValueError: see `model_at`.
    """
    url = checked(_hugging_face(address))
    return RemoteFile(url, f"files/{_ending(url) or 'file'}")


def checked(address: str) -> str:
    """An address that can be downloaded from.

    Raises:
        ValueError: it is neither http nor https, or not in the form of an address.
    """
    if not re.fullmatch(r"https?://[\w.-]+(:\d+)?([/?#][!-~]*)?", address, re.ASCII):
        raise ValueError(
            "An address should be https://HOST/PATH, http://HOST/PATH or "
            f"hf://OWNER/NAME, in ASCII without spaces. Received: {address}"
        )
    return address


def folder_name(name: str) -> str:
    """The name of the folder for a model: the name itself where that is possible.

    Characters that don't fit are replaced; an address ends in a digest of the whole.
    """
    short = re.sub(r"[^\w.-]+", "-", name.removeprefix("https://")).strip("-.")
    if not is_address(name):
        return short
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{short[-60:].strip('-.')}-{digest}"


def _ending(url):
    return PurePosixPath(urlsplit(url).path).name


def _hugging_face(address):
    """The address of a repository at Hugging Face; others as they are."""
    if not address.startswith("hf://"):
        return address
    owner, _, rest = address.removeprefix("hf://").partition("/")
    name, _, file = rest.partition("/")
    if not (owner and name):
        raise ValueError(
            "hf:// should be followed by OWNER/NAME of a repository at Hugging Face. "
            f"Received: {address}"
        )
    return HUGGING_FACE.format(owner, name) + file
