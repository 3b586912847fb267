"""The weights in bilm-tf's checkpoints, which TensorFlow 1 wrote."""

import h5py
import numpy as np
import pytest

from elmo_keras.layers.panels import to_panels
from elmo_keras.model_files.hdf5 import open_hdf5
from elmo_keras.model_files.published import read_weights
from elmo_keras.model_files.tf1_weights import read_tf1_checkpoint
from tests.support.tf1_checkpoints import arrays, built, copied, write

KERNEL = "lm/RNN_1/rnn/multi_rnn_cell/cell_1/lstm_cell/kernel"
PUBLISHED_CELL = "RNN_{}/RNN/MultiRNNCell/Cell{}/LSTMCell/"


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
    with open_hdf5(path) as file:
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
def test_accumulators_are_in_the_order_of_the_weights(n_layers, tmp_path):
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
            lambda values: values["lm/char_embed"].__setitem__((5, 2), np.nan),
            r"`lm/char_embed` should hold finite numbers. Found: nan at \[5, 2\]",
        ),
        (
            lambda values: values["lm/softmax/W"].__setitem__((1, 2), np.inf),
            r"`lm/softmax/W` should hold finite numbers. Found: inf at \[1, 2\]",
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


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]


@pytest.mark.parametrize("ending", [".index", ".data-00000-of-00001"])
@pytest.mark.parametrize("damage", [flipped, lambda c: c[: len(c) // 2], lambda c: b""])
def test_a_damaged_checkpoint_is_refused(trained, tmp_path, ending, damage):
    file = copied(trained, tmp_path) / f"model.ckpt-9{ending}"
    file.write_bytes(damage(file.read_bytes()))
    message = "model.ckpt-9 should be a complete TensorFlow checkpoint"
    refused(tmp_path / "model.ckpt-9", ValueError, message)


def test_an_absent_checkpoint_is_named(trained, tmp_path):
    message = "There is no .*nothing.index. A checkpoint is named by the path of its"
    refused(tmp_path / "nothing", FileNotFoundError, message)
    (copied(trained, tmp_path) / "model.ckpt-9.data-00000-of-00001").unlink()
    message = "should be a complete TensorFlow checkpoint.* .index and .data files"
    refused(tmp_path / "model.ckpt-9", ValueError, message)
