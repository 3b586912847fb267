"""Models found by what names them, read from any layout and written to a directory."""

import contextlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmo_keras.base.argument_checks import shortened
from elmo_keras.base.files import replacing
from elmo_keras.formats.archives import is_archive, unpack
from elmo_keras.formats.hdf5 import new_hdf5, open_hdf5
from elmo_keras.formats.many_langs import (
    ENCODER,
    TOKEN_EMBEDDER,
    make_dictionary,
    read_many_langs,
    read_text,
)
from elmo_keras.formats.model_files import (
    SOFTMAX_DIGEST,
    Mix,
    ModelFiles,
    make_mix,
    mix_content,
)
from elmo_keras.formats.options import (
    has_characters,
    has_dictionary,
    is_of_tokens,
    read_options,
    to_config,
    to_options,
)
from elmo_keras.hub.catalogue import (
    CHARACTERS,
    MIX,
    OPTIONS,
    SOFTMAX,
    SOFTMAX_FILES,
    VOCABULARY,
    WEIGHTS,
    WORDS,
)
from elmo_keras.hub.local_files import local_files
from elmo_keras.text.dictionary import TokenDictionary
from elmo_keras.text.vocabulary import Vocabulary

if TYPE_CHECKING:  # only checkpoints, and a biLM itself, need TensorFlow
    from elmo_keras.bilm import BidirectionalLanguageModel
    from elmo_keras.layers.scalar_mix import ScalarMix

PUBLISHED_SOFTMAX, PUBLISHED_VOCABULARY = SOFTMAX_FILES
_MAX_STATE_FILE = 2**20  # bytes


def find_model(
    model: str | Path | ModelFiles,
    *,
    weights: str | Path | None = None,
    prefer_checkpoint: bool = False,
) -> ModelFiles:
    """The files of a model.

    The name or address of a published model is downloaded, see `hub.local_files`.

    Args:
        model: a model directory, or a directory or archive (`.zip`, `.tar.gz`,
            `.tar.bz2`) with one `….hdf5` and one `…options.json`, with a checkpoint
            of bilm-tf and its `options.json`, with a TF 1 Hub module, or with a model
            of ELMoForManyLangs; the prefix of a checkpoint; or, with `weights`, the
            path of an `options.json`.
        weights: the path of HDF5 weights.
        prefer_checkpoint: whether a checkpoint of bilm-tf comes before HDF5 weights.

    Raises:
        FileNotFoundError: a file is missing; the message names it.
        ValueError: a file is not what it should be.
    """
    if isinstance(model, ModelFiles):
        return model
    model, weights = local_files(model, weights)
    if weights is not None:
        if model.is_dir():
            raise ValueError(
                f"{model} is a directory, which holds weights itself. With other "
                f"weights ({weights}), give the path of their options.json."
            )
        options = read_options(_existing(model))
        vocabulary = _vocabulary(model.parent) if is_of_tokens(options) else None
        return ModelFiles(
            config=to_config(options, _find_dictionary(options, vocabulary)),
            vocabulary_path=vocabulary,
            options=options,
            datasets=open_hdf5(_existing(Path(weights))).datasets,
        )
    if model.name and model.with_name(f"{model.name}.index").exists():
        return _read_bilm_tf(model)
    if not _existing(model).is_dir():
        if not is_archive(model):
            raise ValueError(
                f"{model} should be a model directory, or a zip or tar of one. If it is "
                "an options.json, give the weights as well."
            )
        model = unpack(model)
    return _read_folder(model, prefer_checkpoint)


def _existing(path):
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}.")
    return path


def _read_folder(folder, prefer_checkpoint):
    checkpoints = _files(folder, "*.index")
    is_ours = _files(folder, "*.hdf5", PUBLISHED_SOFTMAX)
    is_ours = is_ours and _files(folder, f"*{OPTIONS}")
    if not is_ours or (checkpoints and prefer_checkpoint):
        if (folder / TOKEN_EMBEDDER).exists() or (folder / ENCODER).exists():
            return read_many_langs(folder)
        if (folder / "saved_model.pb").exists():
            from elmo_keras.formats.checkpoints import read_hub_module

            return read_hub_module(folder)
        if checkpoints:
            return _read_bilm_tf(_latest(folder, checkpoints))
    return _read_model_directory(folder)  # its error names what is missing


def _read_model_directory(folder):
    """A model directory of this package, or options and HDF5 weights of any names."""
    options = read_options(_require(folder, OPTIONS, f"*{OPTIONS}"))
    datasets, vocabulary = _weights(folder, options), _vocabulary(folder)
    dictionary = _find_dictionary(options, vocabulary)
    if has_dictionary(options) and not is_of_tokens(options):
        dictionary = _dictionary(folder, options)
    config, mix = to_config(options, dictionary), folder / MIX
    return ModelFiles(
        config=config,
        options=options,
        datasets=datasets,
        vocabulary_path=vocabulary,
        softmax_path=_only(folder, SOFTMAX, PUBLISHED_SOFTMAX),
        mix=make_mix(mix, read_options(mix), config) if mix.exists() else None,
    )


def _weights(folder, options):
    """The datasets. A model of tokens may have its word vectors in a file of their own."""
    paths = _files(folder, "*.hdf5", PUBLISHED_SOFTMAX)
    if not is_of_tokens(options) or len(paths) != 2:
        path = _require(folder, WEIGHTS, "*.hdf5", PUBLISHED_SOFTMAX)
        return open_hdf5(path).datasets
    first, second = (open_hdf5(path).datasets for path in paths)
    if ("embedding" in first) == ("embedding" in second):
        raise ValueError(
            f"{folder} should hold one HDF5 file with `embedding`, the vectors of words. "
            f"Found: {paths[0].name} and {paths[1].name}"
        )
    return {**first, **second}


def _find_dictionary(options, vocabulary):
    """The dictionary of a language model of tokens is its vocabulary."""
    if not is_of_tokens(options) or vocabulary is None:
        return None
    return TokenDictionary.from_vocabulary(Vocabulary.load(vocabulary).words)


def _dictionary(folder, options):
    """The dictionary of a model directory: line i of a file is the key of id i."""
    characters = words = ""
    if has_characters(options):
        characters = read_text(folder / CHARACTERS).removesuffix("\n")
    if (folder / WORDS).exists():
        words = read_text(folder / WORDS).removesuffix("\n")
    return make_dictionary(characters, words, f"{CHARACTERS} or {WORDS}")


def _read_bilm_tf(prefix):
    """A checkpoint of bilm-tf, by the path of its files without endings."""
    path = prefix.with_name(OPTIONS)
    if not path.exists():
        raise FileNotFoundError(
            f"There is no {path}. A checkpoint of bilm-tf should have it beside its files."
        )
    from elmo_keras.formats.checkpoints import read_checkpoint

    options, vocabulary = read_options(path), _vocabulary(prefix.parent)
    datasets, accumulators = read_checkpoint(prefix)
    return ModelFiles(
        config=to_config(options, _find_dictionary(options, vocabulary)),
        options=options,
        datasets=datasets,
        accumulators=accumulators,
        is_checkpoint=True,
        vocabulary_path=vocabulary,
    )


def _files(folder, pattern, but=""):
    paths = [path for path in folder.glob(pattern) if path.is_file()]
    return [path for path in paths if not (but and path.match(but))]


def _only(folder, name, pattern, but=""):
    """The file of a name, or else the only match of a pattern, or None."""
    if (folder / name).is_file():
        return folder / name
    paths = _files(folder, pattern, but)
    if len(paths) > 1:
        raise ValueError(
            f"{folder} should hold {name} or one file of another name ({pattern}). "
            f"Found: {shortened(sorted(path.name for path in paths))}"
        )
    return paths[0] if paths else None


def _require(folder, name, pattern, but=""):
    path = _only(folder, name, pattern, but)
    if path is None:
        names = sorted(path.name for path in folder.iterdir())
        raise FileNotFoundError(
            f"{folder} should hold {name} or one file {pattern}. Found: "
            f"{shortened(names)}"
        )
    return path


def _vocabulary(folder):
    if (folder / VOCABULARY).is_file():
        return folder / VOCABULARY
    paths = _files(folder, PUBLISHED_VOCABULARY)
    return paths[0] if len(paths) == 1 else None


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


def load_bilm(model: str | Path, **kwargs) -> "BidirectionalLanguageModel":
    """The language model of a model directory, with its softmax if it has one.

    Args:
        model: a model directory, or what else `find_model` takes.
        **kwargs: arguments of the layer.

    Raises:
        FileNotFoundError: a file is missing; the message names it.
        ValueError: a file doesn't fit; the message says what was expected.
    """
    return find_model(model).bilm(**kwargs)


def save_model(
    directory: str | Path,
    bilm: "BidirectionalLanguageModel",
    vocabulary: Vocabulary | None = None,
    *,
    options: dict[str, Any] | None = None,
    mix: "ScalarMix | Mix | None" = None,
    packed: bool = False,
) -> None:
    """Writes a model directory; no file is replaced before all are written.

    Args:
        directory: made if it is missing.
        bilm: a built biLM; its softmax goes to the folder `training`.
        vocabulary: the words of the softmax.
        options: further sections and keys of `options.json`.
        mix: a mix to keep, which `Elmo.from_pretrained` starts from. A `mix.json` of
            earlier weights is deleted without one.
        packed: whether matrices are written as int8 with a scale for each output,
            a quarter of the size. Every function reads them; other packages don't.

    Raises:
        ValueError: the mix is not a learned one.
    """
    from elmo_keras.formats.variables import softmax_table, write_table, write_weights

    texts, dictionary = {}, bilm.config.dictionary
    if dictionary is not None and dictionary.is_vocabulary:
        words = dictionary.words.split("\n")
        vocabulary = vocabulary or Vocabulary(words)
        if TokenDictionary.from_vocabulary(vocabulary.words) != dictionary:
            raise ValueError("`vocabulary` should be that of the model of tokens.")
    elif dictionary is not None:
        keys = {CHARACTERS: dictionary.characters, WORDS: dictionary.words}
        texts = {name: f"{text}\n".encode() for name, text in keys.items() if text}
    if mix is not None:
        texts[MIX] = mix_content(mix)
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:  # its exit puts all files in place
        with new_hdf5(stack.enter_context(replacing(directory / WEIGHTS))) as file:
            write_weights(bilm, file, packed=packed)
        for name, content in texts.items():
            stack.enter_context(replacing(directory / name)).write_bytes(content)
        if vocabulary is not None:
            vocabulary.save(stack.enter_context(replacing(directory / VOCABULARY)))
        if bilm.softmax is not None:
            (directory / SOFTMAX).parent.mkdir(exist_ok=True)
            path = stack.enter_context(replacing(directory / SOFTMAX))
            with new_hdf5(path) as file:
                write_table(softmax_table(bilm), file, packed=packed)
                if vocabulary is not None:
                    file.attrs[SOFTMAX_DIGEST] = vocabulary.digest
        content = json.dumps((options or {}) | to_options(bilm.config), indent=2)
        path = stack.enter_context(replacing(directory / OPTIONS))
        path.write_text(f"{content}\n", encoding="utf-8")
    if mix is None:
        (directory / MIX).unlink(missing_ok=True)  # it was made for earlier weights
