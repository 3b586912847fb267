"""Language models of tokens of bilm-tf, and those whose LSTM layers have no projection."""

import dataclasses
import json

import h5py
import numpy as np
import pytest

from elmo_keras import Elmo, Embedder, load_bilm, save_model
from elmo_keras.formats.model_directory import find_model
from elmo_keras.text.dictionary import TokenDictionary
from tests.support.models import published_weights, random_bilm
from tests.support.reference import layers_of_vectors
from tests.support.sizes import CONFIG
from tests.support.tf1_checkpoints import write

# `b` has the id of its last line; no token has that of the empty one.
WORDS = ["b", "</S>", "a", "<S>", "", "<UNK>", "b", "abcdefghijklmnop"]
IDS = {"<S>": 3, "b": 6, "a": 2, "unseen": 5, "abcdefghijklmnop": 7, "</S>": 1}
SENTENCE = [*IDS][1:-1]
CONFIG = dataclasses.replace(
    CONFIG,
    units=5,
    proj_clip=0.1,
    filters=(),
    n_highway=0,
    char_embedding_dim=0,
    dictionary=TokenDictionary.from_vocabulary(WORDS),
    word_embedding_dim=5,
)
OPTIONS = {
    "lstm": {
        "use_skip_connections": True,
        "projection_dim": 5,
        "cell_clip": 3,
        "proj_clip": 0.1,
        "dim": 5,
        "n_layers": 2,
    },
    "n_tokens_vocab": len(WORDS),
}


@pytest.fixture(scope="module")
def bilm():
    return random_bilm(CONFIG, len(WORDS))


@pytest.fixture(scope="module")
def expected(bilm):
    """All layers of the sentence, by NumPy."""
    weights = published_weights(bilm)
    x = weights["embedding"][[*IDS.values()]]
    return layers_of_vectors(x, weights, CONFIG)[:, 1:-1]


@pytest.fixture
def folder(bilm, tmp_path):
    """A model as bilm-tf writes it."""
    (tmp_path / "options.json").write_text(json.dumps(OPTIONS))
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    with h5py.File(tmp_path / "weights.hdf5", "w") as file:
        for name, value in published_weights(bilm).items():
            file[name] = value.astype("float32")
    return tmp_path


@pytest.mark.filterwarnings("ignore:.*empty lines")
def test_layers_are_those_of_the_equations(folder, expected, eagerly):
    elmo = Elmo.from_pretrained(folder, layers="all")
    vectors = elmo([SENTENCE])[0]
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    paths = folder / "options.json", folder / "weights.hdf5"
    same = Elmo.from_pretrained(paths[0], weights=paths[1], layers="all")
    np.testing.assert_array_equal(same([SENTENCE])[0], vectors)
    [rows] = Embedder(elmo, layers="all").encode([SENTENCE])
    np.testing.assert_allclose(rows, expected, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*empty lines")
def test_files_are_written_as_they_are_read(bilm, folder, tmp_path):
    save_model(tmp_path / "saved", load_bilm(folder))
    options = json.loads((tmp_path / "saved" / "options.json").read_text())
    assert options.pop("elmo_keras").keys() == {"dictionary_sha256"}
    assert options == OPTIONS
    vocabulary = tmp_path / "saved" / "vocab.txt"
    assert vocabulary.read_text().split("\n")[1:-1] == WORDS[1:]
    loaded = load_bilm(tmp_path / "saved")
    for a, b in zip(loaded.get_weights(), load_bilm(folder).get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    vocabulary.write_text("\n".join(reversed(WORDS)) + "\n")
    with pytest.raises(ValueError, match="Put its files back"):
        find_model(tmp_path / "saved")
    (folder / "vocab.txt").unlink()
    with pytest.raises(ValueError, match="no `char_cnn`.*needs its vocab.txt"):
        find_model(folder)


@pytest.mark.filterwarnings("ignore:.*empty lines")
def test_vectors_of_words_have_a_file_of_their_own_or_are_in_a_checkpoint(
    bilm, folder, expected, eagerly
):
    weights = published_weights(bilm)
    with h5py.File(folder / "weights.hdf5", "a") as file:
        file.move("embedding", "char_embed")  # of the model that made the vectors
    with pytest.raises(ValueError, match="should hold `embedding`"):
        find_model(folder)
    with h5py.File(folder / "elmo_token_embeddings.hdf5", "w") as file:
        file["embedding"] = weights["embedding"].astype("float32")
    elmo = Elmo.from_pretrained(folder, layers="all")
    np.testing.assert_allclose(elmo([SENTENCE])[0], expected, atol=1e-5)
    for path in folder.glob("*.hdf5"):
        path.unlink()
    names = {"W_0": "kernel", "B": "bias"}
    variables = {"lm/embedding": weights.pop("embedding")}
    for name, value in weights.items():
        _, direction, _, _, layer, _, part = f"/{name}".replace("//", "/").split("/")
        cell = f"lm/{direction}/rnn/multi_rnn_cell/cell_{layer[-1]}/lstm_cell"
        variables[f"{cell}/{names[part]}"] = value
    write(folder / "model.ckpt-1", {k: np.float32(v) for k, v in variables.items()})
    elmo = Elmo.from_pretrained(folder, layers="all")
    np.testing.assert_allclose(elmo([SENTENCE])[0], expected, atol=1e-5)
