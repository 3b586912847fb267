"""Trained checkpoints of bilm-tf, which TensorFlow 1 wrote."""

import dataclasses
import json
import os

import h5py
import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize

from elmo_keras import BidirectionalLanguageModel, ElmoConfig
from elmo_keras.layers.panels import to_panels
from elmo_keras.tf1_checkpoint import find_tf1_checkpoint
from elmo_keras.weights import read_tf1_checkpoint, read_weights

WORDS = 11
KERNEL = "lm/RNN_1/rnn/multi_rnn_cell/cell_1/lstm_cell/kernel"
PUBLISHED_CELL = "RNN_{}/RNN/MultiRNNCell/Cell{}/LSTMCell/"


def shapes(n_layers=2):
    """Name → shape of bilm-tf's variables in the sizes of the preset `test`."""
    found = {"lm/char_embed": (261, 3)}
    for i, (width, count) in enumerate([(1, 2), (2, 3), (3, 4)]):
        found[f"lm/CNN/W_cnn_{i}"] = (1, width, 3, count)
        found[f"lm/CNN/b_cnn_{i}"] = (count,)
    for name in ("carry", "transform"):
        found[f"lm/CNN_high_0/W_{name}"] = (9, 9)
        found[f"lm/CNN_high_0/b_{name}"] = (9,)
    found |= {"lm/CNN_proj/W_proj": (9, 5), "lm/CNN_proj/b_proj": (5,)}
    for d in range(2):
        for j in range(n_layers):
            layer = f"multi_rnn_cell/cell_{j}/" if n_layers > 1 else ""
            cell = f"lm/RNN_{d}/rnn/{layer}lstm_cell"
            found[f"{cell}/kernel"] = (10, 28)
            found[f"{cell}/bias"] = (28,)
            found[f"{cell}/projection/kernel"] = (7, 5)
    return found | {"lm/softmax/W": (WORDS, 5), "lm/softmax/b": (WORDS,)}


def arrays(n_layers=2):
    """Random values of all variables and of their accumulators, by name."""
    rng = np.random.default_rng(n_layers)
    values = {}
    for name, shape in shapes(n_layers).items():
        values[name] = rng.normal(size=shape).astype("float32") / 2
        values[f"{name}/Adagrad"] = rng.uniform(1, 2, shape).astype("float32")
    steps = {"global_step": np.float32(9), "train_perplexity": np.float32(0)}
    return values | steps


def write(prefix, values):
    """Writes a checkpoint the way bilm-tf does."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        variables = {}
        for name, value in values.items():
            variables[name] = v1.get_variable(
                name, initializer=tf.constant(value), use_resource=False
            )
        session.run(v1.global_variables_initializer())
        saver = v1.train.Saver(variables)
        saver.save(session, str(prefix), write_meta_graph=False)


def options(n_layers=2):
    config = dataclasses.replace(ElmoConfig.preset("test"), n_layers=n_layers)
    content = config.to_options() | {"n_tokens_vocab": WORDS}
    content["char_cnn"]["n_characters"] = 261
    return content


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A directory of bilm-tf's training, which no test changes."""
    directory = tmp_path_factory.mktemp("trained")
    write(directory / "model.ckpt-9", arrays())
    (directory / "options.json").write_text(json.dumps(options()))
    return directory


def built(n_layers=2, vocabulary_size=WORDS):
    config = dataclasses.replace(ElmoConfig.preset("test"), n_layers=n_layers)
    bilm = BidirectionalLanguageModel(config, vocabulary_size)
    bilm.build()
    return randomize(bilm, seed=5)


def read_from_hdf5(path, values, n_layers):
    """A biLM with the same arrays, by their published names."""
    names = {"kernel": "W_0", "bias": "B", "projection/kernel": "W_P_0"}
    with h5py.File(path, "w") as file:
        for name, value in values.items():
            if name.startswith("lm/") and not name.endswith("/Adagrad"):
                parts = name.removeprefix("lm/").split("lstm_cell/")
                if len(parts) == 2:
                    j = parts[0][-2] if n_layers > 1 else 0
                    cell = PUBLISHED_CELL.format(parts[0][4], j)
                    parts = [cell, names[parts[1]]]
                file["".join(parts)] = value
        bilm = built(n_layers, vocabulary_size=None)
        read_weights(bilm, file)
    return bilm


@pytest.mark.parametrize("n_layers", [1, 2])
def test_the_vectors_are_those_of_the_same_arrays_in_hdf5(n_layers, tmp_path):
    values = arrays(n_layers)
    write(tmp_path / "model.ckpt-9", values)
    bilm = built(n_layers)
    read_tf1_checkpoint(bilm, tmp_path / "model.ckpt-9")
    other = read_from_hdf5(tmp_path / "weights.hdf5", values, n_layers)
    ids = np.random.default_rng(0).integers(1, 262, size=(2, 3, 9))
    for a, b in zip(bilm(ids), other(ids), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(bilm.softmax.kernel, values["lm/softmax/W"])
    np.testing.assert_array_equal(bilm.softmax.bias, values["lm/softmax/b"])


@pytest.mark.parametrize("n_layers", [1, 2])
def test_accumulators_stand_in_the_order_of_the_weights(n_layers, tmp_path):
    values = arrays(n_layers)
    write(tmp_path / "model.ckpt-9", values)
    bilm = built(n_layers)
    accumulators = read_tf1_checkpoint(bilm, tmp_path / "model.ckpt-9")
    pairs = zip(bilm.trainable_weights, accumulators, strict=True)
    by_path = {weight.path: accumulator for weight, accumulator in pairs}
    last = n_layers - 1
    lstm = bilm.lstm.backward.lstms[last]
    layer = f"multi_rnn_cell/cell_{last}/" if n_layers > 1 else ""
    cell = values[f"lm/RNN_1/rnn/{layer}lstm_cell/kernel/Adagrad"]
    cnn = bilm.token_representation
    for weight, accumulator in [
        (lstm.kernel, cell[:5]),
        (lstm.recurrent_kernel, to_panels(cell[5:])),
        (cnn.kernels[2], values["lm/CNN/W_cnn_2/Adagrad"][0]),
        (cnn.embeddings, values["lm/char_embed/Adagrad"]),
        (bilm.softmax.kernel, values["lm/softmax/W/Adagrad"]),
    ]:
        np.testing.assert_array_equal(by_path[weight.path], accumulator)
    assert [a.shape for a in accumulators] == [w.shape for w in bilm.trainable_weights]
    total = sum(v.sum() for n, v in values.items() if n.endswith("/Adagrad"))
    np.testing.assert_allclose(sum(a.sum() for a in accumulators), total, rtol=1e-5)


def test_without_accumulators_the_weights_are_read(tmp_path):
    values = {n: v for n, v in arrays().items() if not n.endswith("/Adagrad")}
    write(tmp_path / "model.ckpt", values)
    bilm = built()
    assert read_tf1_checkpoint(bilm, tmp_path / "model.ckpt") is None
    np.testing.assert_array_equal(bilm.get_weights()[0], values["lm/char_embed"])


def test_slots_of_another_optimizer_do_no_harm(tmp_path):
    values = {n.replace("Adagrad", "Adam_1"): v for n, v in arrays().items()}
    write(tmp_path / "model.ckpt", values)
    assert read_tf1_checkpoint(built(), tmp_path / "model.ckpt") is None


def test_a_bilm_without_softmax_leaves_it_out(trained):
    bilm = built(vocabulary_size=None)
    accumulators = read_tf1_checkpoint(bilm, trained / "model.ckpt-9")
    assert len(accumulators) == len(bilm.trainable_weights)
    np.testing.assert_array_equal(bilm.get_weights()[0], arrays()["lm/char_embed"])


def test_frozen_weights_are_read_and_have_no_accumulator(trained):
    bilm = built()
    bilm.token_representation.trainable = False
    accumulators = read_tf1_checkpoint(bilm, trained / "model.ckpt-9")
    assert len(accumulators) == len(bilm.trainable_weights) < len(bilm.weights)
    embeddings = bilm.token_representation.embeddings
    np.testing.assert_array_equal(embeddings, arrays()["lm/char_embed"])


def reshaped(name, *shape):
    return lambda values: values.update({name: np.ones(shape, "float32")})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda values: values.pop("lm/char_embed"),
            r"should hold `lm/char_embed` of shape \[261, 3\]. Found: ",
        ),
        (
            reshaped("lm/char_embed", 262, 3),
            r"`lm/char_embed` .* \[261, 3\] .* Found: \[262, 3\]",
        ),
        (
            reshaped(KERNEL, 10, 24),
            r"`lm/RNN_1.*cell_1.*kernel` .* \[10, 28\] .* Found: \[10, 24\]",
        ),
        (
            reshaped(KERNEL.replace("cell_1", "cell_2"), 10, 28),
            r"hold \['lm/RNN_1.*cell_2.*kernel'\], which a biLM of these options",
        ),
        (
            reshaped("lm/CNN_high_1/b_carry", 9),
            r"hold \['lm/CNN_high_1/b_carry'\], which a biLM of these options",
        ),
        (
            lambda values: values.pop("lm/softmax/b"),
            r"should hold `lm/softmax/b` of shape \[11\]",
        ),
        (
            reshaped("lm/softmax/W", 13, 5),
            r"a row for each of the 11 words .* Found: \[13, 5\]. Give the vocabulary",
        ),
        (
            lambda values: values.pop(f"{KERNEL}/Adagrad"),
            r"should hold `lm/RNN_1.*kernel/Adagrad` of shape \[10, 28\]",
        ),
        (
            reshaped("lm/softmax/b/Adagrad", 13),
            r"`lm/softmax/b/Adagrad` .* \[11\] .* Found: \[13\]",
        ),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(tmp_path, damage, message):
    values = arrays()
    damage(values)
    write(tmp_path / "model.ckpt-9", values)
    refused(tmp_path / "model.ckpt-9", ValueError, message)


def refused(prefix, error, message, **sizes):
    """Asserts that reading fails and leaves the biLM as it was."""
    bilm = built(**sizes)
    before = [np.copy(w) for w in bilm.get_weights()]
    with pytest.raises(error, match=message):
        read_tf1_checkpoint(bilm, prefix)
    for a, b in zip(before, bilm.get_weights()):
        np.testing.assert_array_equal(a, b)


def test_another_number_of_layers_is_refused(trained, tmp_path):
    message = "which a biLM of these options doesn't have"
    refused(trained / "model.ckpt-9", ValueError, message, n_layers=1)
    write(tmp_path / "model.ckpt-9", arrays(n_layers=1))
    refused(tmp_path / "model.ckpt-9", ValueError, message, n_layers=2)


def copied(trained, directory):
    """A copy of the trained directory's files; the copy's path."""
    directory.mkdir(exist_ok=True)
    for file in trained.iterdir():
        (directory / file.name).write_bytes(file.read_bytes())
    return directory


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]


@pytest.mark.parametrize("ending", [".index", ".data-00000-of-00001"])
@pytest.mark.parametrize("damage", [flipped, lambda c: c[: len(c) // 2], lambda c: b""])
def test_a_damaged_checkpoint_is_refused(trained, tmp_path, ending, damage):
    file = copied(trained, tmp_path) / f"model.ckpt-9{ending}"
    file.write_bytes(damage(file.read_bytes()))
    message = "model.ckpt-9 should be a whole checkpoint of TensorFlow"
    refused(tmp_path / "model.ckpt-9", ValueError, message)


def test_an_absent_checkpoint_is_named(trained, tmp_path):
    message = "There is no .*nothing.index. A checkpoint is named by the path of its"
    refused(tmp_path / "nothing", FileNotFoundError, message)
    (copied(trained, tmp_path) / "model.ckpt-9.data-00000-of-00001").unlink()
    message = "should be a whole checkpoint .* .index and .data files"
    refused(tmp_path / "model.ckpt-9", ValueError, message)


def test_a_checkpoint_is_found_by_directory_and_by_prefix(trained):
    for path in (trained, str(trained), trained / "model.ckpt-9"):
        found = find_tf1_checkpoint(path)
        assert found.prefix == trained / "model.ckpt-9"
        assert found.options["n_tokens_vocab"] == WORDS
    config = ElmoConfig.from_options(found.options)
    bilm = BidirectionalLanguageModel(config, found.options["n_tokens_vocab"])
    bilm.build()
    read_tf1_checkpoint(bilm, found.prefix)


def touch(directory, *steps):
    """Makes files with the names of checkpoints, the last one the youngest."""
    for time, step in enumerate(steps):
        file = directory / f"model.ckpt-{step}.index"
        file.touch()
        os.utime(file, (time, time))


def test_the_latest_is_what_the_file_checkpoint_names(trained, tmp_path):
    touch(copied(trained, tmp_path), 100)
    named = 'model_checkpoint_path: "{}"\n'
    for place in ("model.ckpt-9", "/moved/from/here/model.ckpt-9"):
        (tmp_path / "checkpoint").write_text(named.format(place))
        assert find_tf1_checkpoint(tmp_path).prefix == tmp_path / "model.ckpt-9"


@pytest.mark.parametrize(
    "content",
    [None, b"", b"\xff", b"no such format", b'model_checkpoint_path: "gone-100"\n'],
)
def test_without_a_usable_file_checkpoint_the_highest_step_is_taken(
    trained, tmp_path, content
):
    touch(copied(trained, tmp_path), 8, 20, 10)
    (tmp_path / "checkpoint").unlink()
    if content is not None:
        (tmp_path / "checkpoint").write_bytes(content)
    assert find_tf1_checkpoint(tmp_path).prefix == tmp_path / "model.ckpt-20"


def test_of_checkpoints_without_a_step_the_youngest_is_taken(trained, tmp_path):
    (tmp_path / "options.json").write_bytes((trained / "options.json").read_bytes())
    for time, name in enumerate(("older.index", "newer.index")):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time, time))
    assert find_tf1_checkpoint(tmp_path).prefix == tmp_path / "newer"


def test_what_is_missing_beside_a_checkpoint_is_named(trained, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no checkpoint \(\*.index and"):
        find_tf1_checkpoint(tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no .*model.ckpt-9.index"):
        find_tf1_checkpoint(tmp_path / "model.ckpt-9")
    (copied(trained, tmp_path) / "options.json").write_text("[]")
    with pytest.raises(ValueError, match="options.json should hold a JSON object"):
        find_tf1_checkpoint(tmp_path)
    (tmp_path / "options.json").unlink()
    for path in (tmp_path, tmp_path / "model.ckpt-9"):
        with pytest.raises(FileNotFoundError, match="There is no .*options.json"):
            find_tf1_checkpoint(path)
