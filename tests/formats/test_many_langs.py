"""Models of ELMoForManyLangs: vectors, files, and what is refused."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo
from elmo_keras.formats.model_directory import find_model, load_bilm, save_model
from tests.formats.conftest import (
    assert_same,
    contents,
    filled,
    tarred,
    zipped,
)
from tests.support.many_langs_models import (
    CHARACTERS,
    SETTINGS,
    dic,
    model_files,
    write_files,
)
from tests.support.reference import layers_of_vectors


def layers(bilm, sentences):
    """All layers of each sentence, computed in one batch: (layers, tokens, dim)."""
    tokens = [token for sentence in sentences for token in sentence]
    lengths = [len(sentence) for sentence in sentences]
    actual = bilm.layers_of_sentences(
        tf.constant(tokens, tf.string), tf.constant(lengths, tf.int32)
    )
    return np.split(np.stack(actual), np.cumsum(lengths)[:-1], axis=1)


# Rounding of their float32 alone is up to 9.1e-6 of values up to 7.6; ours comes on top.
@pytest.mark.parametrize(("dtype", "bound"), [("float64", 1e-5), ("float32", 1.5e-5)])
@pytest.mark.parametrize("legacy", [False, True], ids=["torch", "torch_of_2018"])
@pytest.mark.parametrize("model", ["char_only", "word_and_char"])
def test_vectors_are_those_of_the_published_code(
    data, tmp_path, model, legacy, dtype, bound
):
    source = data(f"fixtures/elmoformanylangs/{model}")
    shutil.copytree(source, tmp_path / "model", copy_function=shutil.copyfile)
    if legacy:
        for path in (source / "legacy").iterdir():
            shutil.copyfile(path, tmp_path / "model" / path.name)
    sentences = json.loads((source / "sentences.json").read_text(encoding="utf-8"))
    expected = np.load(source / "vectors.npz")
    bilm = Elmo.from_pretrained(tmp_path / "model", dtype=dtype).bilm
    actual = layers(bilm, sentences)
    pairs = [(vectors, expected[str(i)]) for i, vectors in enumerate(actual)]
    assert all(a.shape == b.shape for a, b in pairs)
    largest = max(np.abs(a - b).max(initial=0) for a, b in pairs)
    assert largest < bound


def test_the_default_output_is_the_mean_of_all_layers(data, eagerly):
    source = data("fixtures/elmoformanylangs/word_and_char")
    expected = np.load(source / "vectors.npz")["average_1"]
    sentence = json.loads((source / "sentences.json").read_text(encoding="utf-8"))[1]
    vectors = Elmo.from_pretrained(source)([sentence])[0]
    np.testing.assert_allclose(vectors, expected, rtol=0, atol=1e-5)


def with_values(part="token_embedder", **values):
    """The settings with other values in a part of them."""
    return SETTINGS | {part: SETTINGS[part] | values}


def test_a_directory_and_its_archives_are_the_same_model(tmp_path):
    new, old = model_files(), model_files(legacy=True)
    expected = find_model(write_files(tmp_path / "new", new))
    for source in (
        write_files(tmp_path / "old", old),
        zipped(tmp_path / "161.zip", new),
        zipped(tmp_path / "in_folder.zip", old, folder="161/"),
        tarred(tmp_path / "zhs.model.tar.gz", tmp_path / "new", "."),
    ):
        model = find_model(source)
        arrays, reference = model.datasets, expected.datasets
        assert list(arrays) == list(reference) and model.config == expected.config
        assert_same(arrays.values(), reference.values())


FILTERS = (1, 2), (2, 3), (3, 5)


@pytest.mark.parametrize(("char_dim", "sizes"), [(3, (FILTERS, 2)), (0, ((), 0))])
@pytest.mark.parametrize("missing", [["config.json", "sample.json"], ["sample.json"]])
def test_published_files_lack_the_configuration(tmp_path, char_dim, sizes, missing):
    settings = with_values(max_characters_per_token=50, char_dim=char_dim)
    files = model_files(settings)  # as published
    config = find_model(write_files(tmp_path / "with", files)).config
    assert (config.filters, config.n_highway) == sizes
    for name in missing if char_dim else [*missing, "char.dic"]:
        del files[name]
    assert find_model(zipped(tmp_path / "161.zip", files)).config == config
    assert config.has_characters == (char_dim > 0)


def test_a_model_of_words_only_has_the_vectors_of_its_words(tmp_path):
    """x = word W + b, by the published code; then the LSTMs, as the oracle has them."""
    files = model_files(with_values(char_dim=0, max_characters_per_token=9))
    del files["char.dic"]
    model = find_model(write_files(tmp_path / "m", files))
    sentence = ["<bos>", "a", "naïve", "antidisestablishment", "new", "<eos>"]
    rows = [1, 4, 5, 0, 0, 2]  # "antidis", which is not in the dictionary, and "new"
    weights = {n: np.float64(x[...]) for n, x in model.datasets.items()}
    for name in weights:
        if name.endswith("/B"):  # the oracle adds the forget gate's 1 of bilm-tf
            weights[name][2 * 7 : 3 * 7] -= 1
    x = weights["word_embed"][rows] @ weights["CNN_proj/W_proj"]
    x += weights["CNN_proj/b_proj"]
    expected = layers_of_vectors(x, weights, model.config)[:, 1:-1]
    for dtype, bound in (("float64", 1e-12), ("float32", 1e-5)):
        bilm = load_bilm(tmp_path / "m", dtype=dtype)
        assert bilm.config.ids_per_token == 1
        [actual] = layers(bilm, [sentence[1:-1]])
        np.testing.assert_allclose(actual, expected, rtol=0, atol=bound)


@pytest.mark.parametrize(("word_dim", "char_dim"), [(0, 3), (6, 3), (6, 0)])
def test_a_model_directory_of_ours_reads_back_bit_for_bit(tmp_path, word_dim, char_dim):
    settings = with_values(word_dim=word_dim, char_dim=char_dim, activation="tanh")
    theirs = model_files(settings)
    if not word_dim:
        del theirs["word.dic"]
    bilm = load_bilm(write_files(tmp_path / "theirs", theirs))
    save_model(tmp_path / "ours", bilm)
    files = contents(tmp_path / "ours")
    assert bool(bilm.config.dictionary.words) == (word_dim > 0)
    keys = {"words.txt"} if word_dim else set()
    keys |= {"characters.txt"} if char_dim else set()
    assert files.keys() == {"options.json", "weights.hdf5"} | keys
    for source in (tmp_path / "ours", zipped(tmp_path / "ours.zip", files, "ours/")):
        same = load_bilm(source)
        assert same.config == bilm.config
        assert_same(same.get_weights(), bilm.get_weights())


def test_white_space_is_one_character_and_a_clip_of_0_is_none(tmp_path):
    settings = with_values("encoder", cell_clip=0, proj_clip=None)
    characters = ["a", " ", "\u3000", "\u00a0", *CHARACTERS[-6:]]
    files = model_files(settings, characters=characters)
    config = find_model(write_files(tmp_path / "m", files)).config
    # The last id of white space counts.
    assert config.dictionary.characters.split("\n")[:4] == ["a", "", "", "\u3000"]
    assert config.cell_clip is None and config.proj_clip is None


def changed(part, **values):
    """Files whose configuration has other values."""
    return model_files() | {"sample.json": json.dumps(with_values(part, **values))}


def put(name, content):
    return model_files() | {name: content}


def encoder(change):
    return model_files(change=lambda _, weights: change(weights))


BIAS = "backward_layer_1.state_linearity.bias"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (changed("encoder", name="lstm"), "encoder .* should be 'elmo'.* 'lstm'"),
        (changed("encoder", dim=8), r"should have the shape .* by the options"),
        (changed("encoder", n_layers=3), "lacks 'forward_layer_2"),
        (changed("token_embedder", char_dim=0), "ask for: char_emb_layer"),
        (put("sample.json", b"{"), r"sample\.json should hold JSON"),
        (
            encoder(filled(BIAS, 3, np.inf)),
            rf"`{BIAS} of .*encoder\.pkl` .* finite num",
        ),
        (put("char.dic", b"a\t99\n"), r"char\.dic, line 1, .* below \d\d, the"),
        (put("char.dic", b"a\t1\nb\t1\n"), "one id for each key"),
        (put("char.dic", dic(CHARACTERS[:-1])), "Missing: <eow>"),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path, files, message):
    with pytest.raises(ValueError, match=message):
        load_bilm(zipped(tmp_path / "161.zip", files))
