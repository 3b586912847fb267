"""Models in the files of ELMoForManyLangs, with random weights."""

import json

import numpy as np

from elmo_keras.text.dictionary import CHARACTER_MARKS
from tests.support.torch_files import saved

SETTINGS = {
    "encoder": {
        "name": "elmo",
        "projection_dim": 4,
        "cell_clip": 3,
        "proj_clip": 3,
        "dim": 7,
        "n_layers": 2,
    },
    "token_embedder": {
        "name": "cnn",
        "activation": "relu",
        "filters": [[1, 2], [2, 3], [3, 5]],
        "n_highway": 2,
        "word_dim": 6,
        "char_dim": 3,
        "max_characters_per_token": 11,
    },
}
CHARACTERS = [*"abcdefghijklmnoprstuvwxyzATé.한국어🙂", *CHARACTER_MARKS]
WORDS = ["<oov>", "<bos>", "<eos>", "<pad>", "a", "naïve", "한국어", "antidises", "🙂"]


def dic(keys):
    return "".join(f"{key}\t{i}\n" for i, key in enumerate(keys)).encode()


def tensors(settings, n_characters, n_words):
    random = np.random.default_rng(0).normal
    embedder, encoder = settings["token_embedder"], settings["encoder"]
    word, character = embedder["word_dim"], embedder["char_dim"]
    filters = embedder["filters"] if character else []
    n = sum(count for _, count in filters)
    units, dim = encoder["dim"], encoder["projection_dim"]
    shapes = {}
    if character:
        shapes["char_emb_layer.embedding.weight"] = n_characters, character
    if word:
        shapes["word_emb_layer.embedding.weight"] = (n_words, word)
    for i, (width, count) in enumerate(filters):
        shapes[f"convolutions.{i}.weight"] = count, character, width
        shapes[f"convolutions.{i}.bias"] = (count,)
    for i in range(embedder["n_highway"] if character else 0):
        shapes[f"highways._layers.{i}.weight"] = 2 * n, n
        shapes[f"highways._layers.{i}.bias"] = (2 * n,)
    shapes |= {"projection.weight": (dim, word + n), "projection.bias": (dim,)}
    cells = {}
    for direction in ("forward", "backward"):
        for i in range(encoder["n_layers"]):
            cell = f"{direction}_layer_{i}"
            cells[f"{cell}.input_linearity.weight"] = 4 * units, dim
            cells[f"{cell}.state_linearity.weight"] = 4 * units, dim
            cells[f"{cell}.state_linearity.bias"] = (4 * units,)
            cells[f"{cell}.state_projection.weight"] = dim, units
    return [
        {name: 0.5 * random(size=shape) for name, shape in part.items()}
        for part in (shapes, cells)
    ]


def model_files(
    settings=SETTINGS, *, legacy=False, characters=CHARACTERS, words=WORDS, change=None
):
    """Name → content of the files of a model, with pickles of before 2020 if `legacy`.

    `change` is called with the weights of the token embedder and of the encoder.
    """
    weights = tensors(settings, len(characters), len(words))
    if change:
        change(*weights)
    about = {"config_path": "/home/trainer/configs/sample.json", "model": "ko"}
    return {
        "config.json": json.dumps(about).encode(),
        "sample.json": json.dumps(settings).encode(),
        "char.dic": dic(characters),
        "word.dic": dic(words),
        "token_embedder.pkl": saved(weights[0], legacy),
        "encoder.pkl": saved(weights[1], legacy),
    }


def write_files(folder, files):
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder
