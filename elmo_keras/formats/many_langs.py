"""Models of https://github.com/HIT-SCIR/ELMoForManyLangs.

A gate's weights come in PyTorch's order i, f, g, o there and in TensorFlow's order
i, g, f, o here; matrices are transposed; the gate of a highway layer has the opposite
sign; the bias of the forget gate is in the weights.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from elmo_keras.base.files import naming_damage, whole_file
from elmo_keras.config import ElmoConfig
from elmo_keras.formats.model_files import ModelFiles
from elmo_keras.formats.options import read_options, to_options
from elmo_keras.formats.published import finite
from elmo_keras.formats.torch_pickle import read_tensors
from elmo_keras.text.dictionary import TokenDictionary

TOKEN_EMBEDDER, ENCODER = "token_embedder.pkl", "encoder.pkl"

# cnn_50_100_512_4096_sample.json, which the published models were trained with and
# which their zips lack. The sizes are those of the weights.
_SPACE = "\u3000"  # the key that stands for white space
_SAMPLE = {
    "encoder": dict(name="elmo", cell_clip=3, proj_clip=3),
    "token_embedder": dict(name="cnn", activation="relu", max_characters_per_token=50),
}

_MAX_TEXT = 2**28  # bytes
_WORD_EMBEDDING = "word_emb_layer.embedding.weight"
_CHARACTER_EMBEDDING = "char_emb_layer.embedding.weight"


def read_many_langs(folder: Path) -> ModelFiles:
    """Reads a model; without a configuration, with that of the published models."""
    embedder, encoder = (_tensors(folder / n) for n in (TOKEN_EMBEDDER, ENCODER))
    settings = _settings(folder)
    try:
        settings = settings or _add_sizes(_SAMPLE, embedder, encoder)
        dictionary = _dictionary(folder, embedder, settings["token_embedder"])
        config = _config(settings, dictionary)
        datasets = _embedder_arrays(embedder, config) | _encoder_arrays(encoder, config)
        surplus = [*embedder, *encoder]  # arrays that nothing read
    except KeyError as error:
        raise ValueError(
            f"{folder} lacks {error} in its weights or its configuration."
        ) from error
    if surplus:
        raise ValueError(
            f"{folder} holds weights that its configuration doesn't ask for: "
            f"{', '.join(surplus[:4])}"
        )
    return ModelFiles(config=config, options=to_options(config), datasets=datasets)


def _tensors(path) -> dict[str, np.ndarray]:
    tensors = read_tensors(path.read_bytes(), str(path))
    return {key: finite(f"{key} of {path}", x) for key, x in tensors.items()}


def _settings(folder) -> dict[str, Any] | None:
    """The configuration that `config.json` names, or None if it isn't there."""
    settings: dict[str, Any] = {"config_path": "config.json"}
    for _ in range(2):
        path = str(settings.get("config_path", ""))  # a path on the trainer's machine
        name = re.split(r"[\\/]", path)[-1]
        if not name or not (folder / name).is_file():
            return None
        settings = read_options(folder / name)
    for part, expected in {"encoder": "elmo", "token_embedder": "cnn"}.items():
        name = settings.get(part, {}).get("name")
        if str(name).lower() != expected:
            raise ValueError(
                f"The {part} of a model of ELMoForManyLangs should be {expected!r}, "
                f"the one of the published models. Received: {name!r}"
            )
    return settings


def _add_sizes(settings, embedder, encoder):
    none = np.zeros((0, 0))
    widths = _count(embedder, "convolutions.{}.weight")
    shapes = [embedder[f"convolutions.{i}.weight"].shape for i in range(widths)]
    embedder_sizes = {
        "filters": [[shape[2], shape[0]] for shape in shapes],
        "n_highway": _count(embedder, "highways._layers.{}.weight"),
        "char_dim": embedder.get(_CHARACTER_EMBEDDING, none).shape[1],
        "word_dim": embedder.get(_WORD_EMBEDDING, none).shape[1],
    }
    rows, dim = encoder["forward_layer_0.input_linearity.weight"].shape
    n_layers = _count(encoder, "forward_layer_{}.input_linearity.weight")
    encoder_sizes = dict(dim=rows // 4, projection_dim=dim, n_layers=n_layers)
    return {
        "token_embedder": settings["token_embedder"] | embedder_sizes,
        "encoder": settings["encoder"] | encoder_sizes,
    }


def _count(tensors, name):
    return next(i for i in range(len(tensors) + 1) if name.format(i) not in tensors)


def _dictionary(folder, embedder, settings):
    characters = words = ""
    if settings["char_dim"]:
        characters = _read_dic(folder / "char.dic", len(embedder[_CHARACTER_EMBEDDING]))
    if settings["word_dim"]:
        words = _read_dic(folder / "word.dic", len(embedder[_WORD_EMBEDDING]))
    return make_dictionary(characters, words, f"char.dic or word.dic in {folder}")


def make_dictionary(characters: str, words: str, source: str) -> TokenDictionary:
    with naming_damage(f"{source}:"):
        return TokenDictionary(characters, words)


def _read_dic(path, n_ids):
    """The keys of a `char.dic` or `word.dic`, one on the line of each id.

    A key of white space is missing in effect, because ELMoForManyLangs strips the lines;
    it becomes U+3000, and the last one wins.
    """
    ids: dict[str, int] = {}
    lines = read_text(path).removesuffix("\n").split("\n")
    for i, line in enumerate(lines, 1):
        parts = line.strip().split("\t")
        if len(parts) == 1:
            parts.insert(0, _SPACE)
        if len(parts) != 2 or not (parts[1].isascii() and parts[1].isdigit()):
            raise ValueError(
                f"{path}, line {i}, should be a key, a tab and an id. Received: {line[:80]!r}"
            )
        ids[parts[0]] = int(parts[1][:18])
        if ids[parts[0]] >= n_ids:
            raise ValueError(
                f"{path}, line {i}, should have an id below {n_ids}, the number of vectors "
                f"in {TOKEN_EMBEDDER}. Received: {ids[parts[0]]}"
            )
    if len(set(ids.values())) < len(ids):
        raise ValueError(f"{path} should have one id for each key. Some share one.")
    keys = [""] * n_ids
    for key, j in ids.items():
        keys[j] = key
    return "\n".join(keys)


def read_text(path: Path) -> str:
    content = whole_file(path, _MAX_TEXT)
    with naming_damage(f"{path} should be UTF-8."):
        return content.decode().replace("\r\n", "\n")


def _config(settings, dictionary):
    embedder, encoder = settings["token_embedder"], settings["encoder"]
    if not dictionary.characters:  # their configuration names filters all the same
        embedder = embedder | {"filters": (), "n_highway": 0}
    return ElmoConfig(
        encoder["dim"],
        encoder["projection_dim"],
        embedder["filters"],
        n_layers=encoder["n_layers"],
        n_highway=embedder["n_highway"],
        char_embedding_dim=embedder["char_dim"],
        max_characters_per_token=embedder["max_characters_per_token"],
        activation=embedder["activation"],
        cell_clip=encoder.get("cell_clip") or None,
        proj_clip=encoder.get("proj_clip") or None,
        dictionary=dictionary,
        word_embedding_dim=embedder["word_dim"],
    )


def _embedder_arrays(tensors, config):
    arrays = {}
    if config.has_characters:
        arrays["char_embed"] = tensors.pop(_CHARACTER_EMBEDDING)
    if config.word_embedding_dim:
        arrays["word_embed"] = tensors.pop(_WORD_EMBEDDING)
    for i in range(len(config.filters)):
        kernel = tensors.pop(f"convolutions.{i}.weight")
        arrays[f"CNN/W_cnn_{i}"] = kernel.transpose(2, 1, 0)[None]
        arrays[f"CNN/b_cnn_{i}"] = tensors.pop(f"convolutions.{i}.bias")
    for i in range(config.n_highway):
        kernels = np.split(tensors.pop(f"highways._layers.{i}.weight"), 2)
        biases = np.split(tensors.pop(f"highways._layers.{i}.bias"), 2)
        # Their gate weighs the input, bilm-tf's the transformed part.
        for gate, sign in ("transform", 1), ("carry", -1):
            arrays[f"CNN_high_{i}/W_{gate}"] = sign * kernels.pop(0).T
            arrays[f"CNN_high_{i}/b_{gate}"] = sign * biases.pop(0)
    arrays["CNN_proj/W_proj"] = tensors.pop("projection.weight").T
    arrays["CNN_proj/b_proj"] = tensors.pop("projection.bias")
    return arrays


def _encoder_arrays(tensors, config):
    arrays = {}
    for d, direction in enumerate(("forward", "backward")):
        for j in range(config.n_layers):
            layer = f"{direction}_layer_{j}"
            cell = f"RNN_{d}/RNN/MultiRNNCell/Cell{j}/LSTMCell"
            kernels = (
                _gates(tensors.pop(f"{layer}.{part}_linearity.weight")).T
                for part in ("input", "state")
            )
            arrays[f"{cell}/W_0"] = np.concatenate([*kernels])
            arrays[f"{cell}/B"] = _gates(tensors.pop(f"{layer}.state_linearity.bias"))
            arrays[f"{cell}/W_P_0"] = tensors.pop(f"{layer}.state_projection.weight").T
    return arrays


def _gates(rows):
    """Rows of the gates i, f, g, o in the order i, g, f, o."""
    i, f, g, o = np.split(rows, 4)
    return np.concatenate([i, g, f, o])
