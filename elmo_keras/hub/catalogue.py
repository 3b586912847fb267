"""Published models: those of `catalogue.toml`, `nlpl:NUMBER`, and addresses."""

import difflib
import functools
import glob
import importlib.resources
import re
import tomllib
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import urlsplit

# The files of a model directory.
OPTIONS = "options.json"
MAX_OPTIONS = 2**20  # bytes
WEIGHTS = "weights.hdf5"
VOCABULARY = "vocab.txt"
SOFTMAX = "training/softmax.hdf5"
MIX = "mix.json"
CARD, CURVES = "model_card.md", "curves.png"
CHARACTERS, WORDS = "characters.txt", "words.txt"
# The files of a head, and of the one that finds the predicates of semantic roles.
HEAD_FILES = (
    "head.json",
    "head.safetensors",
    "predicates/head.json",
    "predicates/head.safetensors",
)
# Optional files of a model directory.
OPTIONAL = VOCABULARY, SOFTMAX, MIX, CHARACTERS, WORDS
TRAINING = "training"  # the folder of training
# Files that training and `save_model` write to a model directory.
PARTS = OPTIONS, WEIGHTS, VOCABULARY, MIX, CHARACTERS, WORDS, TRAINING, CARD, CURVES
# The softmax and the vocabulary beside published options and weights.
SOFTMAX_FILES = "*softmax*.hdf5", "*vocab*.txt"
# Parts from which no vector is computed.
NOT_FOR_VECTORS = SOFTMAX_FILES[0], TRAINING, CARD, CURVES
WORD_VECTORS = "*embedding*.hdf5"  # for a language model of tokens
# The files of a directory in another layout, such as a checkpoint of bilm-tf.
OTHER_LAYOUTS = (
    MIX,
    "*options.json",
    "*config.json",
    "*sample.json",
    "*.hdf5",
    "*.h5",
    "*.zip",
    "*.txt",
    "*.pkl",
    "*.dic",
    "checkpoint",
    "*.index",
    "*.meta",
    "*.data-*",
    "*.pb",
    "variables",
)

ARCHIVES = ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar"
NLPL, NLPL_ADDRESS = "nlpl:", "http://vectors.nlpl.eu/repository/20/{}.zip"
HUB = "hf://"
IN_PACKAGE, HEAD_LAYOUT = "in the package", "a head in the package"  # layouts
BOX = Path(__file__).parent.parent / "box"
ADDRESS = (
    r"https?://[\w.-]+(:\d+)?([/?#][!-~]*)?|hf://[\w.-]+/[\w.-]+(@[!-.0-~]+)?(/[!-~]*)?"
)


class RemoteFile(NamedTuple):
    address: str  # http://…, https://… or hf://OWNER/NAME/FILE
    name: str  # its path in the model's folder of the cache
    checksum: str | None = None  # md5:…, sha1:… or sha256:…, by its publisher
    size: int | None = None  # bytes, by its publisher


class PublishedModel(NamedTuple):
    name: str
    language: str = "not stated"  # of its text, or the type of its sequences
    files: tuple[RemoteFile, ...] = ()  # an archive, or the files that vectors need
    layout: str = "options + HDF5"
    aliases: tuple[str, ...] = ()
    text: str = ""  # the training text
    megabytes: float | None = None
    licence: str = ""
    extra: tuple[RemoteFile, ...] = ()  # files that predictions of words need
    unavailable: str = ""  # why it can't be downloaded, and what to do

    @property
    def in_package(self) -> Path | None:
        """The model's folder, if it comes with this package."""
        return BOX / self.name if self.layout == IN_PACKAGE else None


@functools.cache
def catalogue() -> tuple[PublishedModel, ...]:
    """All models that have a name, as `catalogue.toml` lists them."""
    return tuple(_parse_row(**row) for row in _tables()["models"])


def heads() -> list[PublishedModel]:
    """The heads of the package, which `pipeline` takes."""
    rows = [PublishedModel(layout=HEAD_LAYOUT, **row) for row in _tables()["heads"]]
    sizes = [
        sum(file.stat().st_size for file in (BOX / row.name).rglob("head.*"))
        for row in rows
    ]
    return [row._replace(megabytes=size / 1e6) for row, size in zip(rows, sizes)]


def _tables():
    file = importlib.resources.files("elmo_keras.hub") / "catalogue.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _parse_row(*, name, aliases=(), files=(), extra=(), **row):
    if name.startswith(NLPL):
        row["files"] = (file_at(NLPL_ADDRESS.format(name.removeprefix(NLPL))),)
    elif name.startswith(HUB):
        row["files"] = model_at(name).files
    else:
        row["files"] = tuple(RemoteFile(*file) for file in files)
    extra = tuple(RemoteFile(*file) for file in extra)
    return PublishedModel(name, aliases=tuple(aliases), extra=extra, **row)


@functools.cache
def _by_name():
    return {n.casefold(): m for m in catalogue() for n in (m.name, *m.aliases)}


def published_model(name: str) -> PublishedModel | None:
    """The model of a name or alias in any case, `nlpl:NUMBER` or an address; or None."""
    lowered = name.casefold()
    if model := _by_name().get(lowered):
        return model
    if not lowered.startswith(NLPL):
        return model_at(name) if is_address(name) else None
    model_id = lowered.removeprefix(NLPL)
    if not re.fullmatch("[0-9]{1,9}", model_id):
        raise ValueError(
            f"{NLPL} should be followed by the number of a model at "
            f"vectors.nlpl.eu, such as {NLPL}161. Received: {name}"
        )
    name, address = f"{NLPL}{int(model_id)}", NLPL_ADDRESS.format(int(model_id))
    unlisted = PublishedModel(name, files=(file_at(address),), layout="zip")
    return _by_name().get(name, unlisted)


def required_model(name: str) -> PublishedModel:
    """The model that a string names; the error says what may have been meant."""
    if model := published_model(name):
        return model
    names = [model.name for model in catalogue() if not model.unavailable]
    similar = difflib.get_close_matches(name.casefold(), names)
    question = f" Did you mean {' or '.join(similar)}?" if similar else ""
    raise FileNotFoundError(
        f"There is no {name}. It is neither a path nor the name of a published model."
        f"{question} `elmo-keras models` lists the names."
    )


def is_address(name: str) -> bool:
    return "://" in name


def model_at(address: str) -> PublishedModel:
    """The model at `http://…`, `https://…` or `hf://OWNER/NAME[@REVISION][/FILE]`.

    The address is that of an archive, of `…options.json` with `…weights.hdf5` beside it,
    or of a folder with `options.json` and `weights.hdf5`.
    """
    parts = urlsplit(check_address(address))
    if parts.path.endswith(ARCHIVES):
        return PublishedModel(address, files=(file_at(address),), layout="archive")
    if not parts.path.endswith(OPTIONS):
        parts = parts._replace(path=f"{parts.path.rstrip('/')}/{OPTIONS}")
    beside = parts._replace(path=parts.path.removesuffix(OPTIONS) + WEIGHTS)
    files = RemoteFile(parts.geturl(), OPTIONS), RemoteFile(beside.geturl(), WEIGHTS)
    return PublishedModel(address, files=files)


def file_at(address: str) -> RemoteFile:
    """The single file at an address."""
    name = PurePosixPath(urlsplit(check_address(address)).path).name
    return RemoteFile(address, name or "file")


def check_address(address: str) -> str:
    if not re.fullmatch(ADDRESS, address, re.ASCII):
        raise ValueError(
            "An address should be https://HOST/PATH, http://HOST/PATH or "
            "hf://OWNER/NAME of a repository at Hugging Face, in ASCII without spaces. "
            f"Received: {address}"
        )
    return address


def parts_of_model(model: str | Path) -> list[Path]:
    """The files and folders of a model (directory, file or prefix), if they exist or not.

    Readers read no others, and no output may replace them.
    """
    model = Path(model)
    if model.is_dir():
        parts, patterns = [], OTHER_LAYOUTS
        if (model / OPTIONS).exists() and (model / WEIGHTS).exists():
            parts = [model / part for part in PARTS]
            patterns = *SOFTMAX_FILES, WORD_VECTORS
        others = {path for pattern in patterns for path in model.glob(pattern)}
        return parts + sorted(others - {*parts})
    is_prefix = model.with_name(f"{model.name}.index").exists() and not model.exists()
    if not is_prefix and model.suffix != ".json":
        return [model]
    vocabularies = {model.with_name(VOCABULARY), *model.parent.glob(SOFTMAX_FILES[1])}
    files = [model]
    if is_prefix:
        files = [*model.parent.glob(f"{glob.escape(model.name)}.*")]
        files.append(model.with_name(OPTIONS))
    return files + sorted(vocabularies)


def files_of_vectors(model: Path, weights: Path | None = None) -> list[Path]:
    """The files that exist and from which a model's vectors are computed."""
    parts = [*parts_of_model(model), *([weights] if weights else [])]
    files = {
        file
        for part in parts
        if not any(map(part.match, NOT_FOR_VECTORS))
        for file in (part.iterdir() if part.is_dir() else [part])
    }
    return sorted(file for file in files if file.is_file())
