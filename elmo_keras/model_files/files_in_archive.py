"""A model in a zip or tar: an own directory, or the files of a published layout."""

import math
from pathlib import Path, PurePosixPath

from elmo_keras.cli.shortened import shortened
from elmo_keras.config import ElmoConfig
from elmo_keras.model_files.archives import Archive, open_archive
from elmo_keras.model_files.files_in_directory import (
    MAX_MIX,
    dictionary_in,
    hub_module_files,
    many_langs_files,
    tf1_files,
)
from elmo_keras.model_files.found_model import Content, ModelFiles
from elmo_keras.model_files.hub_module import VARIABLES, is_saved_model
from elmo_keras.model_files.many_langs import Folder, is_many_langs
from elmo_keras.model_files.published import published_shapes
from elmo_keras.model_files.softmax_files import SOFTMAX_MARK
from elmo_keras.model_files.start_state_file import MAX_START_STATE
from elmo_keras.model_files.tf1_checkpoint import find_tf1_prefix
from elmo_keras.model_files.unpacked_files import UnpackedFiles
from elmo_keras.models.file_names import MIX, OPTIONS, START_STATE, VOCABULARY
from elmo_keras.published_options import parse_options

# Bytes that a file may have. Weights may come with a softmax, and in float64: so many
# times what the options ask for, and so many bytes for their names.
_MAX_OPTIONS, _MAX_VOCABULARY = 2**20, 2**30
_MAX_WEIGHTS_RATIO, _FREE_WEIGHTS = 16, 2**26
_INDEX = ".index"


def files_in_archive(model: Path) -> ModelFiles:
    """The files of the model in a zip or tar.

    The files of a TensorFlow checkpoint are unpacked to a temporary folder, as
    TensorFlow reads them from there only; all others are read to memory.

    Raises:
        FileNotFoundError: a file is missing; the message names it.
        ValueError: a file is not what it should be, or several could be meant.
    """
    with open_archive(model) as archive:
        folder = _folder(archive)
        if is_many_langs(folder.files):
            return many_langs_files(folder)
        own = [name for name in archive.members if _is_own(name, "")]
        if is_saved_model(own):
            return _hub_module(archive)
        if _folders(own, _INDEX) and not any(map(_is_weights, own)):
            return _tf1_checkpoint(archive, own)
        return _options_and_weights(archive, folder)


def _folder(archive):
    def read(name, most):
        if name not in archive.members:
            raise FileNotFoundError(f"{archive.path} lacks {name}.")
        return archive.read(name, most)

    return Folder(str(archive.path), tuple(archive.members), read)


def _options_and_weights(archive, folder):
    name = _member(archive, OPTIONS)
    place = f"{name} in {archive.path}"
    options = parse_options(archive.read(name, _MAX_OPTIONS), place)
    dictionary = dictionary_in(folder, options)
    config = ElmoConfig.from_options(options, dictionary)
    expected = 4 * sum(map(math.prod, published_shapes(config).values()))
    most = _FREE_WEIGHTS + _MAX_WEIGHTS_RATIO * expected
    return ModelFiles(
        options,
        _content(archive, ".hdf5", most),
        _if_any(archive, VOCABULARY, _MAX_VOCABULARY),
        dictionary=dictionary,
        mix_file=_if_any(archive, MIX, MAX_MIX),
        start_state_file=_if_any(archive, START_STATE, MAX_START_STATE),
    )


def _if_any(archive, ending, most):
    there = any(_is_own(name, ending) for name in archive.members)
    return _content(archive, ending, most) if there else None


def _content(archive, ending, most):
    name = _member(archive, ending)
    return Content(f"{name} in {archive.path}", archive.read(name, most))


def _member(archive: Archive, ending):
    names = [name for name in archive.members if _is_own(name, ending)]
    names = [name for name in names if ending != ".hdf5" or _is_weights(name)]
    if len(names) != 1:
        raise ValueError(
            f"{archive.path} should hold one file *{ending}. Found: "
            f"{shortened(names or list(archive.members))}"
        )
    return names[0]


def _is_weights(name):
    return name.endswith(".hdf5") and SOFTMAX_MARK not in PurePosixPath(name).name


def _is_own(name, ending):
    """Whether a file of an archive belongs to the model itself, not to its training."""
    folders = Path(name).parts[:-1]
    return name.endswith(ending) and not {"training", "__MACOSX"} & set(folders)


def _folders(names, ending):
    return {PurePosixPath(name).parent for name in names if name.endswith(ending)}


def _hub_module(archive):
    """A module, of which only the variables are unpacked."""
    index = _member(archive, f"{VARIABLES}/{VARIABLES}{_INDEX}")
    start = index.removesuffix(_INDEX)
    unpacked = UnpackedFiles(archive)
    unpacked.add(name for name in archive.members if name.startswith(f"{start}."))
    return hub_module_files(unpacked.folder, archive.path, unpacked)


def _tf1_checkpoint(archive, own):
    """The latest checkpoint of a folder, of which only its own data is unpacked."""
    [folder, *others] = _folders(own, _INDEX)
    if others:
        raise ValueError(
            f"{archive.path} should hold checkpoints in one folder. Found: "
            f"{shortened(sorted(map(str, [folder, *others])))}"
        )
    names = [name for name in own if PurePosixPath(name).parent == folder]
    unpacked = UnpackedFiles(archive)
    unpacked.add(name for name in names if _is_small(PurePosixPath(name).name))
    prefix = find_tf1_prefix(unpacked.folder)
    start = str(folder / f"{prefix.name}.data-")
    unpacked.add(name for name in names if str(PurePosixPath(name)).startswith(start))
    return tf1_files(prefix, unpacked)


def _is_small(name):
    is_vocabulary = "vocab" in name and name.endswith(".txt")
    return name in (OPTIONS, "checkpoint") or name.endswith(_INDEX) or is_vocabulary
