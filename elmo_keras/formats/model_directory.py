"""Models found by what names them, read from any layout and written to a directory."""

import contextlib
import json
from pathlib import Path
from typing import Any

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.formats.archives import is_archive, unpack
from elmo_keras.formats.hdf5 import new_hdf5
from elmo_keras.formats.layouts import (
    read_bilm_tf,
    read_layout,
    read_options_and_weights,
)
from elmo_keras.formats.model_files import SOFTMAX_DIGEST, Mix, ModelFiles, mix_content
from elmo_keras.formats.published import softmax_table, write_table, write_weights
from elmo_keras.hub.catalogue import (
    CHARACTERS,
    MIX,
    OPTIONS,
    SOFTMAX,
    VOCABULARY,
    WEIGHTS,
    WORDS,
)
from elmo_keras.hub.local_files import local_files
from elmo_keras.layers.scalar_mix import ScalarMix
from elmo_keras.text.vocabulary import Vocabulary
from elmo_keras.util.files import replacing


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
            path of an `options.json`. Files that were found are returned as they are.
        weights: the path of HDF5 weights.
        prefer_checkpoint: whether a checkpoint of bilm-tf, which holds a softmax, comes
            before HDF5 weights in the same directory or archive.

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
        return read_options_and_weights(_existing(model), _existing(Path(weights)))
    if model.name and model.with_name(f"{model.name}.index").exists():
        return read_bilm_tf(model)
    if _existing(model).is_dir():
        return read_layout(model, prefer_checkpoint=prefer_checkpoint)
    if is_archive(model):
        return read_layout(unpack(model), prefer_checkpoint=prefer_checkpoint)
    raise ValueError(
        f"{model} should be a model directory, or a zip or tar of one, which may be "
        "packed by gzip or bzip2. If it is an options.json, give the weights as well."
    )


def _existing(path):
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}.")
    return path


def load_bilm(model: str | Path, **kwargs) -> BidirectionalLanguageModel:
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
    bilm: BidirectionalLanguageModel,
    vocabulary: Vocabulary | None = None,
    *,
    options: dict[str, Any] | None = None,
    mix: ScalarMix | Mix | None = None,
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
    kept, dictionary = {}, bilm.config.dictionary
    if dictionary is not None:
        texts = {CHARACTERS: dictionary.characters, WORDS: dictionary.words}
        kept = {name: f"{text}\n".encode() for name, text in texts.items() if text}
    if mix is not None:
        kept[MIX] = mix_content(mix)
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:  # its exit puts all files in place
        with new_hdf5(stack.enter_context(replacing(directory / WEIGHTS))) as file:
            write_weights(bilm, file, packed=packed)
        for name, content in kept.items():
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
        content = json.dumps((options or {}) | bilm.config.to_options(), indent=2)
        path = stack.enter_context(replacing(directory / OPTIONS))
        path.write_text(f"{content}\n", encoding="utf-8")
    if mix is None:
        (directory / MIX).unlink(missing_ok=True)  # of earlier weights
