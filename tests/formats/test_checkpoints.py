"""Checkpoints of bilm-tf and TF 1 Hub modules: where they are found, and what is read."""

import os
import shutil
import tarfile

import h5py
import numpy as np
import pytest

from elmo_keras import Elmo, LanguageModel
from elmo_keras.formats.model_directory import find_model, load_bilm, save_model
from elmo_keras.layers.blocked_weights import block
from tests.formats.conftest import TOKENS, assert_same, tarred
from tests.support import hub_modules, tf1_checkpoints
from tests.support.hub_modules import BILM_TF_MIX, GAMMA, SCALARS
from tests.support.tf1_checkpoints import WORDS, arrays, built, write_model

PREFIX = "model.ckpt-9"
PUBLISHED_CELL = "RNN_{}/RNN/MultiRNNCell/Cell{}/LSTMCell/"


def published(values, n_layers):
    """The same arrays by their published names."""
    names, variables = {"kernel": "W_0", "bias": "B", "projection/kernel": "W_P_0"}, {}
    for name, value in values.items():
        if name.startswith("lm/") and not name.endswith("/Adagrad"):
            parts = name.removeprefix("lm/").split("lstm_cell/")
            if len(parts) == 2:
                j = parts[0][-2] if n_layers > 1 else 0
                parts = [PUBLISHED_CELL.format(parts[0][4], j), names[parts[1]]]
            variables["".join(parts)] = value
    return variables


@pytest.mark.parametrize("n_layers", [1, 2])
def test_weights_are_those_in_hdf5_and_accumulators_are_in_their_order(
    n_layers, tmp_path
):
    values = arrays(n_layers)
    files = find_model(write_model(tmp_path / "m", values, n_layers))
    bilm = files.bilm()
    with h5py.File(tmp_path / "weights.hdf5", "w") as file:
        for name, value in published(values, n_layers).items():
            file[name] = value
    options, weights = tmp_path / "m" / "options.json", tmp_path / "weights.hdf5"
    ids = np.random.default_rng(0).integers(1, 262, size=(2, 3, 9))
    assert_same(bilm(ids), Elmo.from_pretrained(options, weights=weights).bilm(ids))
    softmax = values["lm/softmax/W"], values["lm/softmax/b"]
    assert_same([bilm.softmax.kernel, bilm.softmax.bias], softmax)
    accumulators = files.adagrad_accumulators(bilm)
    paths = [weight.path for weight in bilm.trainable_weights]
    by_path = dict(zip(paths, accumulators, strict=True))
    last = n_layers - 1
    lstm = bilm.lstm.backward.lstms[last]
    layer = f"multi_rnn_cell/cell_{last}/" if n_layers > 1 else ""
    cell = values[f"lm/RNN_1/rnn/{layer}lstm_cell/kernel/Adagrad"]
    cnn = bilm.token_representation
    for weight, accumulator in [
        (lstm.kernel, cell[:5]),
        (lstm.recurrent_kernel, block(cell[5:])),
        (cnn.kernels[2], values["lm/CNN/W_cnn_2/Adagrad"][0]),
        (cnn.embeddings, values["lm/char_embed/Adagrad"]),
        (bilm.softmax.kernel, values["lm/softmax/W/Adagrad"]),
    ]:
        np.testing.assert_array_equal(by_path[weight.path], accumulator)
    assert [a.shape for a in accumulators] == [w.shape for w in bilm.trainable_weights]
    total = sum(v.sum() for n, v in values.items() if n.endswith("/Adagrad"))
    np.testing.assert_allclose(sum(a.sum() for a in accumulators), total, rtol=1e-5)


def test_without_accumulators_the_weights_are_read(tmp_path):
    values = {n.replace("Adagrad", "Adam_1"): v for n, v in arrays().items()}
    files = find_model(write_model(tmp_path / "m", values))
    bilm = files.bilm()
    assert files.adagrad_accumulators(bilm) is None
    np.testing.assert_array_equal(bilm.get_weights()[0], values["lm/char_embed"])


@pytest.mark.parametrize("words", [None, WORDS])
def test_a_softmax_may_be_left_out_and_frozen_weights_have_no_accumulator(
    trained, words
):
    files, bilm = find_model(trained), built(vocabulary_size=words)
    bilm.token_representation.trainable = words is None
    files.read_into(bilm, with_softmax=words is not None)
    assert len(files.adagrad_accumulators(bilm)) == len(bilm.trainable_weights)
    embeddings = bilm.token_representation.embeddings
    np.testing.assert_array_equal(embeddings, arrays()["lm/char_embed"])


def refused(model, message):
    """Asserts that reading fails and leaves the biLM as it was."""
    bilm = built()
    before = bilm.get_weights()
    with pytest.raises(ValueError, match=message):
        files = find_model(model)
        files.adagrad_accumulators(bilm)
        files.read_into(bilm, with_softmax=True)
    assert_same(before, bilm.get_weights())


def test_missing_files_of_a_checkpoint_are_named(trained, tmp_path):
    copy = shutil.copytree(trained, tmp_path / "copy")
    (copy / "elmo-vocab.txt").unlink()
    assert load_bilm(copy).softmax is None  # it is left out without its words
    data = copy / f"{PREFIX}.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:500])
    refused(copy, "data files have 500 bytes for")
    data.unlink()
    refused(copy, "a complete TensorFlow checkpoint.* .index and .data files")
    (copy / "options.json").unlink()
    with pytest.raises(FileNotFoundError, match="no .*options.json. A checkpoint"):
        find_model(copy / PREFIX)


def test_a_model_is_found_by_directory_prefix_and_archive(trained, tmp_path):
    folder = shutil.copytree(trained, tmp_path / "output")
    for file in ("index", "data-00000-of-00001"):
        (folder / f"model.ckpt-3.{file}").write_bytes(b"older")
    archived = tarred(tmp_path / "output.tar.gz", folder, "output")
    expected = load_bilm(trained)
    assert expected.vocabulary_size == WORDS
    weights = expected.token_representation.weights + expected.lstm.weights
    for model in (trained, str(trained / PREFIX), archived):
        assert find_model(model).options == tf1_checkpoints.options()
        assert_same(weights, Elmo.from_pretrained(model).bilm.weights)
    model = LanguageModel.from_pretrained(archived)
    assert_same(expected.weights, model.bilm.weights)
    assert model.vocabulary.special == (1, 0, 2)


STEPS = ["model.ckpt-8", "model.ckpt-20", "model.ckpt-10"]
NAMED = 'model_checkpoint_path: "{}model.ckpt-8"\nall_model_checkpoint_paths: "x"\n'


@pytest.mark.parametrize(
    ("names", "content", "expected"),
    [
        (STEPS, NAMED.format("").encode(), "model.ckpt-8"),
        (STEPS, NAMED.format("/moved/from/here/").encode(), "model.ckpt-8"),
        *((STEPS, x, "model.ckpt-20") for x in (None, b"\xff")),
        (STEPS, b'model_checkpoint_path: "gone-100"\n', "model.ckpt-20"),
        (["older", "newer"], None, "newer"),
    ],
)
def test_the_latest_checkpoint_is_read(trained, tmp_path, names, content, expected):
    (tmp_path / "options.json").write_bytes((trained / "options.json").read_bytes())
    for time, name in enumerate(names):  # files without content, the last the youngest
        (tmp_path / f"{name}.index").touch()
        os.utime(tmp_path / f"{name}.index", (time, time))
    if content is not None:
        (tmp_path / "checkpoint").write_bytes(content)
    message = f"/{expected} should be a complete TensorFlow checkpoint"
    with pytest.raises(ValueError, match=message):
        find_model(tmp_path)


def test_checkpoints_beside_others_and_hdf5_weights(directory, trained, tmp_path):
    with tarfile.open(tmp_path / "two.tar", "w") as archive:
        archive.add(trained, "one")
        archive.add(trained, "two")
    with pytest.raises(ValueError, match="in one folder. Found: one, two"):
        Elmo.from_pretrained(tmp_path / "two.tar")
    shutil.copytree(trained, directory, dirs_exist_ok=True)
    assert not find_model(directory).is_checkpoint
    assert find_model(directory, prefer_checkpoint=True).is_checkpoint
    assert find_model(directory / PREFIX).is_checkpoint


def test_a_module_has_the_weights_and_sizes_of_its_variables_and_no_softmax(
    source, module
):
    files = find_model(module, prefer_checkpoint=True)
    bilm = files.bilm()
    assert files.config == source.config and not files.has_softmax
    assert files.adagrad_accumulators(bilm) is None
    assert_same(source.weights, bilm.weights)


def test_its_mix_is_the_mix_of_the_layer_also_when_converted(module, tmp_path, eagerly):
    elmo = Elmo.from_pretrained(module, num_representations=2)
    for mix in elmo.mixes:
        np.testing.assert_array_equal(mix.scalars, np.float32(SCALARS))
        assert float(mix.gamma) == GAMMA
    layers = elmo.all_layers(TOKENS)
    shares = np.exp(SCALARS) / np.exp(SCALARS).sum()
    expected = GAMMA * np.einsum("bltd,l->btd", layers, shares)
    np.testing.assert_allclose(elmo(TOKENS)[0], expected, atol=1e-6)
    average = Elmo.from_pretrained(module, layers="average")(TOKENS)
    np.testing.assert_allclose(average, np.mean(layers, axis=1), atol=1e-6)
    chosen = Elmo.from_pretrained(module, mix=[1.0, 2.0, 3.0]).mixes[0]
    assert chosen.scalars.numpy().tolist() == [1, 2, 3] and float(chosen.gamma) == 1
    save_model(tmp_path / "english", elmo.bilm, mix=elmo.mixes[0])
    same = Elmo.from_pretrained(tmp_path / "english")
    np.testing.assert_array_equal(same(TOKENS), elmo(TOKENS)[0])


def test_names_of_bilm_tf_in_an_archive_under_any_scope(source, tmp_path):
    values = hub_modules.variables(source, BILM_TF_MIX)
    scoped = {f"module/{name}": value for name, value in values.items()}
    directory = hub_modules.write(tmp_path / "module", scoped)
    tarred(tmp_path / "elmo_ru.tar.gz", directory, ".")
    assert_same(source.weights, load_bilm(tmp_path / "elmo_ru.tar.gz").weights)
    mix = find_model(tmp_path / "elmo_ru.tar.gz").mix
    assert mix == (tuple(SCALARS), GAMMA)
