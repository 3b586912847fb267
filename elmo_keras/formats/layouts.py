"""The layouts in which models are published: which files hold what, in each of them."""

import re
from pathlib import Path

from elmo_keras.config import ElmoConfig
from elmo_keras.formats.checkpoints import read_checkpoint
from elmo_keras.formats.hdf5 import open_hdf5
from elmo_keras.formats.hub_module import read_hub_module
from elmo_keras.formats.many_langs import (
    ENCODER,
    TOKEN_EMBEDDER,
    read_many_langs,
    read_text,
)
from elmo_keras.formats.model_files import ModelFiles, read_mix
from elmo_keras.formats.model_parts import OF_SOFTMAX
from elmo_keras.hub.catalogue import (
    CHARACTERS,
    MIX,
    OPTIONS,
    SOFTMAX,
    VOCABULARY,
    WEIGHTS,
    WORDS,
)
from elmo_keras.published_options import has_characters, has_dictionary, read_options
from elmo_keras.token_dictionary import TokenDictionary
from elmo_keras.util.command import shortened

PUBLISHED_SOFTMAX, PUBLISHED_VOCABULARY = OF_SOFTMAX
_MAX_STATE_FILE = 2**20  # bytes


def read_layout(folder: Path, *, prefer_checkpoint: bool = False) -> ModelFiles:
    """The model in a folder, in whatever layout."""
    checkpoints = _files(folder, "*.index")
    weights = set(_files(folder, "*.hdf5")) - set(_files(folder, PUBLISHED_SOFTMAX))
    checkpoint_first = checkpoints and prefer_checkpoint
    if weights and _files(folder, f"*{OPTIONS}") and not checkpoint_first:
        return read_model_directory(folder)
    if (folder / TOKEN_EMBEDDER).exists() or (folder / ENCODER).exists():
        return read_many_langs(folder)
    if (folder / "saved_model.pb").exists():
        return read_hub_module(folder)
    if checkpoints:
        return read_bilm_tf(_latest(folder, checkpoints))
    return read_model_directory(folder)  # which names what is missing


def read_model_directory(folder: Path) -> ModelFiles:
    """A model directory of this package, or options and HDF5 weights of any names."""
    options = read_options(_require(folder, OPTIONS, f"*{OPTIONS}"))
    weights = _require(folder, WEIGHTS, "*.hdf5", but=PUBLISHED_SOFTMAX)
    dictionary = _dictionary(folder, options) if has_dictionary(options) else None
    config, mix = ElmoConfig.from_options(options, dictionary), folder / MIX
    return ModelFiles(
        config=config,
        options=options,
        datasets=open_hdf5(weights).datasets,
        vocabulary_path=_vocabulary(folder),
        softmax_path=_only(folder, SOFTMAX, PUBLISHED_SOFTMAX),
        mix=read_mix(mix, config.n_layers + 1) if mix.exists() else None,
    )


def _dictionary(folder, options):
    """The dictionary of a model directory: line i of a file is the key of id i."""
    characters = words = ""
    if has_characters(options):
        characters = read_text(folder / CHARACTERS).removesuffix("\n")
    if (folder / WORDS).exists():
        words = read_text(folder / WORDS).removesuffix("\n")
    try:
        return TokenDictionary(characters, words)
    except ValueError as error:
        raise ValueError(f"{CHARACTERS} or {WORDS}: {error}") from error


def read_options_and_weights(options: Path, weights: Path) -> ModelFiles:
    values = read_options(options)
    return ModelFiles(
        config=ElmoConfig.from_options(values),
        options=values,
        datasets=open_hdf5(weights).datasets,
    )


def read_bilm_tf(prefix: Path) -> ModelFiles:
    """A checkpoint of bilm-tf, by the path of its files without endings."""
    path = prefix.with_name(OPTIONS)
    if not path.exists():
        raise FileNotFoundError(
            f"There is no {path}. A checkpoint of bilm-tf should hold .index and .data "
            f"files with {OPTIONS} beside them."
        )
    options = read_options(path)
    datasets, accumulators = read_checkpoint(prefix)
    return ModelFiles(
        config=ElmoConfig.from_options(options),
        options=options,
        datasets=datasets,
        accumulators=accumulators,
        is_checkpoint=True,
        vocabulary_path=_vocabulary(prefix.parent),
    )


def _files(folder, pattern):
    return [path for path in folder.glob(pattern) if path.is_file()]


def _only(folder, name, pattern, but=None):
    """The file of a name, or else the only match of a pattern, or None."""
    if (folder / name).is_file():
        return folder / name
    others = _files(folder, but) if but else []
    paths = [path for path in _files(folder, pattern) if path not in others]
    if len(paths) > 1:
        raise ValueError(
            f"{folder} should hold {name} or one file of another name ({pattern}). "
            f"Found: {', '.join(sorted(path.name for path in paths)[:4])}. Move the "
            "others elsewhere."
        )
    return paths[0] if paths else None


def _require(folder, name, pattern, but=None):
    path = _only(folder, name, pattern, but)
    if path is None:
        names = sorted(path.name for path in folder.iterdir())
        raise FileNotFoundError(
            f"{folder} should hold {name} or one file {pattern}. Found: "
            f"{shortened(names)}"
        )
    return path


def _vocabulary(folder):
    paths = _files(folder, PUBLISHED_VOCABULARY)
    named = [path for path in paths if path.name == VOCABULARY]
    return (named or paths)[0] if len(named or paths) == 1 else None


def _latest(folder, indexes):
    """The checkpoint that the file `checkpoint` names, or that of the highest step."""
    state = folder / "checkpoint"
    if state.is_file():
        with state.open("rb") as file:
            text = file.read(_MAX_STATE_FILE).decode(errors="replace")
        match = re.search(r'^model_checkpoint_path: *"(.*)"', text, re.MULTILINE)
        # It may be a path from before the directory was moved.
        name = f"{Path(match[1]).name}.index" if match else ""
        if folder / name in indexes:
            return (folder / name).with_suffix("")
    return max(indexes, key=_step_and_time).with_suffix("")


def _step_and_time(index):
    match = re.search(r"-(\d{1,18})\.index$", index.name)
    return int(match[1]) if match else -1, index.stat().st_mtime
