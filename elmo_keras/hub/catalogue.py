"""Published models: by a name or alias of the catalogue, by a number, or by an address."""

import difflib
import functools
import importlib.resources
import re
import tomllib
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import urlsplit

from elmo_keras.hub.file_names import OPTIONS, WEIGHTS

ARCHIVES = ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar"
NLPL, NLPL_ADDRESS = "nlpl:", "http://vectors.nlpl.eu/repository/20/{}.zip"
HUB = "hf://"
IN_PACKAGE = "in the package"  # a layout
BOX = Path(__file__).parent.parent / "box"
ADDRESS = (
    r"https?://[\w.-]+(:\d+)?([/?#][!-~]*)?|hf://[\w.-]+/[\w.-]+(@[!-.0-~]+)?(/[!-~]*)?"
)
CUTOFF = 0.7  # of difflib, for names that are similar


class RemoteFile(NamedTuple):
    address: str  # http://…, https://… or hf://OWNER/NAME/FILE
    name: str  # its path in the model's folder of the cache
    checksum: str = ""  # md5:…, sha1:… or sha256:…, as its publisher states it
    size: int | None = None  # in bytes, as its publisher states it


class PublishedModel(NamedTuple):
    name: str
    language: str = "not stated"  # or the kind of its sequences
    files: tuple[RemoteFile, ...] = ()  # for vectors: an archive, or those of a folder
    layout: str = "options + HDF5"
    aliases: tuple[str, ...] = ()
    text: str = ""  # it was trained on
    megabytes: float | None = None
    licence: str = ""
    extra: tuple[RemoteFile, ...] = ()  # for the language model's predictions
    unavailable: str = ""  # why it can't be downloaded, and what to do

    @property
    def is_archive(self) -> bool:
        return len(self.files) == 1 and self.files[0].name.endswith(ARCHIVES)

    @property
    def in_package(self) -> Path | None:
        """Its folder, if it comes with this package."""
        return BOX / self.name if self.layout == IN_PACKAGE else None

    @property
    def is_on_hub(self) -> bool:
        return self.name.startswith(HUB)


@functools.cache
def catalogue() -> tuple[PublishedModel, ...]:
    """All models that have a name, as `catalogue.toml` lists them."""
    table = importlib.resources.files(__package__) / "catalogue.toml"
    rows = tomllib.loads(table.read_text(encoding="utf-8"))["models"]
    return tuple(_model(**row) for row in rows)


def _model(*, aliases=(), files=(), extra=(), **row):
    files, extra = ([RemoteFile(*file) for file in some] for some in (files, extra))
    if row["name"].startswith(HUB):
        files = model_at(row["name"]).files
    return PublishedModel(
        **row, aliases=tuple(aliases), files=tuple(files), extra=tuple(extra)
    )


@functools.cache
def _by_name():
    return {n.casefold(): m for m in catalogue() for n in (m.name, *m.aliases)}


def published_model(name: str) -> PublishedModel | None:
    """The model of a name or alias in any case, `nlpl:NUMBER` or an address; or None."""
    if known := _by_name().get(name.casefold()):
        return known
    if not name.startswith(NLPL):
        return model_at(name) if is_address(name) else None
    number = name.removeprefix(NLPL)
    if not (number.isascii() and number.isdecimal()):
        raise ValueError(
            f"{NLPL} should be followed by the number of a model at "
            f"vectors.nlpl.eu, such as {NLPL}161. Received: {name}"
        )
    name, address = f"{NLPL}{int(number)}", NLPL_ADDRESS.format(int(number))
    unlisted = PublishedModel(name, files=(_archive(address),), layout="zip")
    return _by_name().get(name, unlisted)


def similar_names(name: str, most: int = 4) -> list[str]:
    """Names of models that may have been meant: of that language, or similar."""
    lowered = name.casefold()
    languages = {m.language.casefold(): m.name for m in catalogue()}
    if lowered in languages:
        same = [m.name for m in catalogue() if m.language.casefold() == lowered]
        return same[:most]
    names = languages | {name: model.name for name, model in _by_name().items()}
    close = difflib.get_close_matches(lowered, names, most, CUTOFF)
    return list(dict.fromkeys(names[match] for match in close))


def is_address(name: str) -> bool:
    return "://" in name


def model_at(address: str) -> PublishedModel:
    """The model at `http://…`, `https://…` or `hf://OWNER/NAME[@REVISION][/FILE]`.

    The address is that of an archive, of `…options.json` with `…weights.hdf5` beside it,
    or of a folder with `options.json` and `weights.hdf5`.
    """
    parts = urlsplit(checked(address))
    if parts.path.endswith(ARCHIVES):
        return PublishedModel(address, files=(_archive(address),), layout="archive")
    if not parts.path.endswith(OPTIONS):
        parts = parts._replace(path=f"{parts.path.rstrip('/')}/{OPTIONS}")
    beside = parts._replace(path=parts.path.removesuffix(OPTIONS) + WEIGHTS)
    files = RemoteFile(parts.geturl(), OPTIONS), RemoteFile(beside.geturl(), WEIGHTS)
    return PublishedModel(address, files=files)


def file_at(address: str) -> RemoteFile:
    return RemoteFile(address, f"files/{_ending(checked(address)) or 'file'}")


def checked(address: str) -> str:
    if not re.fullmatch(ADDRESS, address, re.ASCII):
        raise ValueError(
            "An address should be https://HOST/PATH, http://HOST/PATH or "
            "hf://OWNER/NAME of a repository at Hugging Face, in ASCII without spaces. "
            f"Received: {address}"
        )
    return address


def _archive(address):
    return RemoteFile(address, _ending(address))


def _ending(address):
    return PurePosixPath(urlsplit(address).path).name
