"""The layouts in which models are published: which files hold what, in each of them."""

import re
from pathlib import PurePosixPath

from elmo_keras.config import ElmoConfig
from elmo_keras.formats.checkpoints import CheckpointWeights
from elmo_keras.formats.dictionary_files import read_dictionary
from elmo_keras.formats.folders import PUBLISHED_SOFTMAX, Folder
from elmo_keras.formats.found_model import ModelFiles
from elmo_keras.formats.hdf5 import open_hdf5
from elmo_keras.formats.hub_module import read_hub_module
from elmo_keras.formats.many_langs import ENCODER, TOKEN_EMBEDDER, read_many_langs
from elmo_keras.formats.mix_file import MAX_MIX
from elmo_keras.formats.published import n_parameters
from elmo_keras.hub.catalogue import (
    MIX,
    OPTIONS,
    SOFTMAX,
    VOCABULARY,
    WEIGHTS,
)
from elmo_keras.published_options import MAX_OPTIONS, has_dictionary, parse_options
from elmo_keras.util.command import shortened

_MAX_VOCABULARY, _MAX_STATE_FILE = 2**30, 2**20  # bytes
# Weights may come with a softmax, and in float64: so many times what the options ask
# for, and so many bytes for their names.
_MAX_WEIGHTS_RATIO, _FREE_WEIGHTS = 16, 2**26


def model_in(folder: Folder, *, prefer_checkpoint: bool = False) -> ModelFiles:
    """The files of the model in a directory or archive, in whatever layout."""
    checkpoints = folder.matching("*.index")
    checkpoints = [
        n for n in checkpoints if PurePosixPath(n).parent.name != "variables"
    ]
    weights = set(folder.matching("*.hdf5")) - set(folder.matching(PUBLISHED_SOFTMAX))
    others_first = checkpoints and prefer_checkpoint
    if weights and folder.matching(f"*{OPTIONS}") and not others_first:
        return options_and_weights(folder)
    if folder.has(TOKEN_EMBEDDER) or folder.has(ENCODER):
        return _of_sized(read_many_langs(folder))
    if folder.has("saved_model.pb"):
        index = folder.required("variables/variables.index", "variables.index")
        files = folder.on_disk(index.removesuffix(".index"))
        return _of_sized(read_hub_module(files, folder.place))
    if checkpoints:
        return bilm_tf_checkpoint(folder, _latest(folder, checkpoints))
    return options_and_weights(folder)  # which names what is missing


def _of_sized(weights):
    config = weights.config
    kinds = {"dictionary": config.dictionary, "own_mix": weights.mix}
    return ModelFiles(config.to_options(), lambda: weights, **kinds)


def options_and_weights(folder: Folder) -> ModelFiles:
    """A model directory of this package, or options and HDF5 weights of any names."""
    options = _options(folder, folder.required(OPTIONS, f"*{OPTIONS}"))
    dictionary = read_dictionary(folder, options) if has_dictionary(options) else None

    def most_bytes():
        config = ElmoConfig.from_options(options, dictionary)
        return _FREE_WEIGHTS + _MAX_WEIGHTS_RATIO * 4 * n_parameters(config)

    weights = folder.required(WEIGHTS, "*.hdf5", but=PUBLISHED_SOFTMAX)
    source = folder.source(weights, most_bytes)
    softmax = folder.only(SOFTMAX, PUBLISHED_SOFTMAX)
    return ModelFiles(
        options,
        lambda: open_hdf5(source),
        _vocabulary(folder),
        dictionary=dictionary,
        softmax_file=softmax and folder.place / softmax,
        directory=folder.place if folder.place.is_dir() else None,
        own_mix=folder.content_if_any(MIX, MAX_MIX),
    )


def bilm_tf_checkpoint(folder: Folder, prefix: str) -> ModelFiles:
    options = str(PurePosixPath(prefix).with_name(OPTIONS))
    for needed in (f"{prefix}.index", options):
        if needed not in folder.names:
            raise FileNotFoundError(
                f"There is no {folder.place / needed}. A checkpoint of bilm-tf should "
                f"hold .index and .data files with {OPTIONS} beside them."
            )
    on_disk = folder.on_disk(prefix)
    return ModelFiles(
        _options(folder, options),
        lambda: CheckpointWeights(on_disk),
        _vocabulary(folder),
    )


def _options(folder, name):
    content = folder.content(name, MAX_OPTIONS)
    return parse_options(content.data, content.name)


def _vocabulary(folder):
    found = folder.matching("*vocab*.txt")
    named = [name for name in found if PurePosixPath(name).name == VOCABULARY]
    if len(named or found) != 1:
        return None
    return folder.source((named or found)[0], lambda: _MAX_VOCABULARY)


def _latest(folder, indexes):
    """The checkpoint that the file `checkpoint` names, or that of the highest step."""
    parents = sorted({str(PurePosixPath(name).parent) for name in indexes})
    if len(parents) > 1:
        raise ValueError(
            f"{folder.place} should hold checkpoints in one folder. Found: "
            f"{shortened(parents)}"
        )
    content = folder.content_if_any("checkpoint", _MAX_STATE_FILE)
    state = content.data.decode(errors="replace") if content else ""
    if named := re.search(r'^model_checkpoint_path: *"(.*)"', state, re.MULTILINE):
        # It may be a path from before the directory was moved.
        prefix = str(PurePosixPath(indexes[0]).with_name(PurePosixPath(named[1]).name))
        if f"{prefix}.index" in indexes:
            return prefix
    prefixes = [name.removesuffix(".index") for name in indexes]
    steps = {prefix: re.search(r"-(\d{1,18})$", prefix) for prefix in prefixes}
    return max(reversed(prefixes), key=lambda p: int(steps[p][1]) if steps[p] else -1)
