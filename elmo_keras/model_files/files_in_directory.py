"""A model in a directory: an own one, or the files of a published layout."""

from pathlib import Path

from elmo_keras.layers.token_dictionary import TokenDictionary
from elmo_keras.model_files.dictionary_files import (
    MAX_SIZE,
    WORDS,
    read_dictionary,
)
from elmo_keras.model_files.found_model import Content, ModelFiles
from elmo_keras.model_files.hub_module import (
    VARIABLES,
    is_saved_model,
    read_hub_module,
)
from elmo_keras.model_files.many_langs import Folder, is_many_langs, read_many_langs
from elmo_keras.model_files.softmax_files import (
    SOFTMAX_MARK,
    find_softmax,
    find_vocabulary,
)
from elmo_keras.model_files.start_state_file import MAX_START_STATE
from elmo_keras.model_files.tf1_checkpoint import find_tf1_checkpoint, is_tf1_checkpoint
from elmo_keras.model_files.unpacked_files import UnpackedFiles
from elmo_keras.models.file_names import MIX, OPTIONS, START_STATE, WEIGHTS
from elmo_keras.published_options import has_characters, has_dictionary, read_options

MAX_MIX = 2**20  # bytes


def files_in_directory(model: Path) -> ModelFiles:
    """The files of the model in a directory.

    Raises:
        FileNotFoundError: a file is missing; the message names it.
        ValueError: a file is not what it should be, or several could be meant.
    """
    folder = _folder(model)
    options = find_options(model)
    if options is None and is_many_langs(folder.files):
        return many_langs_files(folder)
    if options is None and is_saved_model(folder.files):
        return hub_module_files(model / VARIABLES, model)
    weights = _find_weights(model)
    if weights is None and is_tf1_checkpoint(model):
        return tf1_files(model)
    if options is None or weights is None:
        missing = OPTIONS if options is None else WEIGHTS
        raise FileNotFoundError(f"There is no {model / missing}.")
    content = read_options(options)

    def if_any(name, most):
        there = name in folder.files
        return Content(str(model / name), folder.read(name, most)) if there else None

    return ModelFiles(
        content,
        weights,
        find_vocabulary(model),
        model,
        dictionary_in(folder, content),
        softmax_file=find_softmax(model),
        mix_file=if_any(MIX, MAX_MIX),
        start_state_file=if_any(START_STATE, MAX_START_STATE),
    )


def find_options(model: Path) -> Path | None:
    """The `options.json` of a directory, or its only file `*options.json`, or None.

    Raises:
        ValueError: there are several, none with this name.
    """
    return _only(model, OPTIONS, model.glob(f"*{OPTIONS}"))


def _find_weights(model):
    found = [path for path in model.glob("*.hdf5") if SOFTMAX_MARK not in path.name]
    return _only(model, WEIGHTS, found)


def _only(model, name, found):
    found = sorted(found)
    if model / name in found:
        return model / name
    if len(found) > 1:
        raise ValueError(
            f"{model} should hold {name} or one file of another name. Found: "
            f"{', '.join(path.name for path in found[:4])}"
        )
    return found[0] if found else None


def _folder(model):
    def read(name, most):
        path = model / name
        if not path.exists():
            raise FileNotFoundError(f"There is no {path}.")
        if path.stat().st_size > most:
            raise ValueError(f"{path} should have at most {most:,} bytes.")
        return path.read_bytes()

    files = tuple(path.name for path in model.iterdir() if path.is_file())
    return Folder(str(model), files, read)


def many_langs_files(folder: Folder) -> ModelFiles:
    """The files of a model of ELMoForManyLangs.

    Raises:
        FileNotFoundError, ValueError: as `read_many_langs`.
    """
    model = read_many_langs(folder)
    options, dictionary = model.config.to_options(), model.config.dictionary
    return ModelFiles(options, weights=model, dictionary=dictionary)


def hub_module_files(
    variables: Path, name: str | Path, unpacked: UnpackedFiles | None = None
) -> ModelFiles:
    """The files of a TF 1 Hub module.

    Args, Raises: as `read_hub_module`.
    """
    module = read_hub_module(variables, name, unpacked)
    return ModelFiles(module.config.to_options(), weights=module)


def tf1_files(path: Path, unpacked: UnpackedFiles | None = None) -> ModelFiles:
    """The files of a checkpoint of bilm-tf, with its vocabulary if it lies beside it.

    Args:
        path: as for `find_tf1_checkpoint`.
        unpacked: what keeps them, if they are temporary.

    Raises:
        FileNotFoundError, ValueError: as `find_tf1_checkpoint`.
    """
    found = find_tf1_checkpoint(path)._replace(unpacked=unpacked)
    return ModelFiles(found.options, found, find_vocabulary(found.prefix.parent))


def dictionary_in(folder: Folder, options: dict) -> TokenDictionary | None:
    """The dictionary in a directory or archive of this package, None without one.

    Raises:
        FileNotFoundError: it is missing.
        ValueError: it is damaged.
    """
    if not has_dictionary(options):
        return None
    names = {Path(name).name: name for name in folder.files}
    return read_dictionary(
        lambda name: folder.read(names.get(name, name), MAX_SIZE),
        with_characters=has_characters(options),
        with_words=WORDS in names,
    )
