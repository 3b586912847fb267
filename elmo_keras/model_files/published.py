"""Published HDF5 weights and bilm-tf's checkpoints: the one place with their names."""

import contextlib
import dataclasses
import hashlib
import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import keras
import numpy as np
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.layers.panels import from_panels, to_panels

# Part of a published name → what bilm-tf's checkpoints have in its place.
_TF1_NAMES = {
    "/RNN/MultiRNNCell/Cell": "/rnn/multi_rnn_cell/cell_",
    "/LSTMCell/": "/lstm_cell/",
    "/W_0": "/kernel",
    "/B": "/bias",
    "/W_P_0": "/projection/kernel",
}


@dataclasses.dataclass(frozen=True)
class MatrixInPanels:
    """A variable that holds a matrix in panels, see `layers.panels`."""

    variable: keras.Variable

    @property
    def shape(self):
        """The matrix's."""
        deep, wide, depth, width = self.variable.shape
        return deep * depth, wide * width


class Entry(NamedTuple):
    """An array of the file: its shape, and the variables that make it up.

    Several variables stand one below the other, along the first axis.
    """

    shape: tuple[int, ...]
    variables: tuple[keras.Variable | MatrixInPanels, ...]


def published_table(bilm: BidirectionalLanguageModel) -> dict[str, Entry]:
    """Name → entry for every dataset of the published layout.

    Arrays are kept as they are, gates in the order i, j, f, o.
    """
    cnn = bilm.token_representation
    table = {"char_embed": _entry(cnn.embeddings)}
    for i, (kernel, bias) in enumerate(zip(cnn.kernels, cnn.biases)):
        table[f"CNN/W_cnn_{i}"] = Entry((1, *kernel.shape), (kernel,))
        table[f"CNN/b_cnn_{i}"] = _entry(bias)
    for i, highway in enumerate(cnn.highways):
        table[f"CNN_high_{i}/W_carry"] = _entry(highway.carry_kernel)
        table[f"CNN_high_{i}/b_carry"] = _entry(highway.carry_bias)
        table[f"CNN_high_{i}/W_transform"] = _entry(highway.transform_kernel)
        table[f"CNN_high_{i}/b_transform"] = _entry(highway.transform_bias)
    if cnn.projection is not None:
        table["CNN_proj/W_proj"] = _entry(cnn.projection.kernel)
        table["CNN_proj/b_proj"] = _entry(cnn.projection.bias)
    for d, direction in enumerate((bilm.lstm.forward, bilm.lstm.backward)):
        for j, lstm in enumerate(direction.lstms):
            cell = f"RNN_{d}/RNN/MultiRNNCell/Cell{j}/LSTMCell"
            table[f"{cell}/W_0"] = _entry(
                lstm.kernel, MatrixInPanels(lstm.recurrent_kernel)
            )
            # Without the forget gate's bias of 1.0, which is added at run time.
            table[f"{cell}/B"] = _entry(lstm.bias)
            table[f"{cell}/W_P_0"] = _entry(MatrixInPanels(lstm.projection_kernel))
    return table


def softmax_table(bilm: BidirectionalLanguageModel) -> dict[str, Entry]:
    """Name → entry of the softmax, which published HDF5 files leave out."""
    return {
        "softmax/W": _entry(bilm.softmax.kernel),
        "softmax/b": _entry(bilm.softmax.bias),
    }


def tf1_table(bilm: BidirectionalLanguageModel) -> dict[str, Entry]:
    """Name → entry of every weight in a checkpoint of bilm-tf, softmax included."""
    table = published_table(bilm)
    if bilm.softmax is not None:
        table |= softmax_table(bilm)
    n_layers = bilm.config.n_layers
    return {_tf1_name(name, n_layers): entry for name, entry in table.items()}


def _tf1_name(name, n_layers):
    for published, tf1 in _TF1_NAMES.items():
        name = name.replace(published, tf1)
    if n_layers == 1:  # bilm-tf makes no MultiRNNCell of a single cell
        name = name.replace("/multi_rnn_cell/cell_0/", "/")
    return f"lm/{name}"


def _entry(*variables):
    rows = sum(variable.shape[0] for variable in variables)
    return Entry((rows, *variables[0].shape[1:]), variables)


def read_weights(bilm: BidirectionalLanguageModel, file: h5py.File) -> None:
    """Reads published weights into a built biLM.

    Raises:
        ValueError: a dataset is missing, has another shape, or belongs to a
            layer the biLM doesn't have. Nothing was changed then.
    """
    table = published_table(bilm)
    found = datasets(file)
    _check_projection(bilm, found)
    _refuse([name for name in found if name not in table and _is_published(name)])
    read_table(table, found)


def read_table(table: dict[str, Entry], found: Mapping[str, Any]) -> None:
    """Reads every entry of `table`.

    Args:
        table: what is wanted.
        found: name → array, with a `shape`, and read by `[...]`.

    Raises:
        ValueError: an array is missing or has another shape; nothing was
            changed then.
    """
    _check_table(table, found)
    for name, entry in table.items():
        _assign(entry, found[name][...])


def read_tf1_checkpoint(
    bilm: BidirectionalLanguageModel, prefix: str | Path
) -> list[np.ndarray] | None:
    """Reads a trained checkpoint of bilm-tf (TensorFlow 1) into a built biLM.

    Args:
        bilm: the biLM; its softmax is read too, if it has one.
        prefix: path of the checkpoint's files without `.index`, see
            `tf1_checkpoint.find_tf1_checkpoint`.

    Returns:
        Adagrad's accumulators, one for each of `bilm.trainable_weights` in
        their order, or None if the checkpoint holds none.

    Raises:
        FileNotFoundError: there is no such checkpoint.
        ValueError: it is damaged, or a variable is missing, has another shape,
            or belongs to a layer the biLM doesn't have. Nothing was changed then.
    """
    table = tf1_table(bilm)
    slots = {f"{name}/Adagrad": entry for name, entry in table.items()}
    with _reading(prefix):
        found = _checkpoint_variables(prefix)
        _refuse(_surplus_tf1(found, table))
        _check_vocabulary(bilm, found)
        if slots.keys().isdisjoint(found):
            slots = {}
        _check_table(table | slots, found)
        # All is read before any is assigned: damage shows in reading only.
        arrays = {name: found[name][...] for name in table | slots}
    for name, entry in table.items():
        _assign(entry, arrays[name])
    accumulators = {
        id(variable): rows
        for name, entry in slots.items()
        for variable, rows in _split(entry, arrays[name])
    }
    return [accumulators[id(v)] for v in bilm.trainable_weights] if slots else None


def _check_table(table, found):
    for name, entry in table.items():
        if name not in found:
            raise ValueError(
                f"The weights should hold `{name}` of shape {list(entry.shape)}. "
                f"Found: {sorted(found)}"
            )
        if found[name].shape != entry.shape:
            raise ValueError(
                f"`{name}` should have the shape {list(entry.shape)} by the options. "
                f"Found: {list(found[name].shape)}"
            )


def _refuse(surplus):
    if surplus:
        raise ValueError(
            f"The weights hold {sorted(surplus)}, which a biLM of these options "
            "doesn't have. Check that options and weights belong together."
        )


def _assign(entry, array):
    for variable, rows in _split(entry, array):
        variable.assign(rows)


def _split(entry, array):
    """Pairs of a variable and its values, which are some rows of the array."""
    first = 0
    for variable in entry.variables:
        n_rows = variable.shape[0] if len(entry.variables) > 1 else array.shape[0]
        rows = array[first : first + n_rows]
        first += n_rows
        if isinstance(variable, MatrixInPanels):
            yield variable.variable, to_panels(rows)
        else:
            yield variable, rows.reshape(variable.shape)


def write_weights(bilm: BidirectionalLanguageModel, file: h5py.File) -> None:
    """Writes the weights of a biLM in the published layout."""
    write_table(published_table(bilm), file)
    if bilm.token_representation.projection is None:
        # bilm-tf reads no projection where it would keep the size, AllenNLP always.
        dim = bilm.config.projection_dim
        file["CNN_proj/W_proj"] = np.eye(dim, dtype=np.float32)
        file["CNN_proj/b_proj"] = np.zeros(dim, dtype=np.float32)


def write_table(table: dict[str, Entry], file: h5py.File) -> None:
    """Writes every entry of `table` to `file` as float32."""
    for name, entry in table.items():
        file[name] = array_of(entry)


def array_of(entry: Entry) -> np.ndarray:
    """The array of the published layout, float32."""
    arrays = [_rows(variable) for variable in entry.variables]
    return np.concatenate(arrays).reshape(entry.shape)


def _rows(variable):
    if isinstance(variable, MatrixInPanels):
        return from_panels(_rows(variable.variable))
    return keras.ops.convert_to_numpy(keras.ops.cast(variable.value, "float32"))


@contextlib.contextmanager
def new_hdf5(path: Path, userblock_size: int = 0) -> Iterator[h5py.File]:
    """A file to be filled, written to `path` at the end.

    It is made in memory: where a disk is full, HDF5 would end the process.

    Args:
        path: replaced if it exists.
        userblock_size: bytes left in front of the content, for its SHA-256.
    """
    content = io.BytesIO()
    with h5py.File(content, "w", userblock_size=userblock_size) as file:
        yield file
    content = content.getbuffer()
    if userblock_size:
        digest = hashlib.sha256(content[userblock_size:]).digest()
        content[: len(digest)] = digest
    with path.open("wb") as written:
        written.write(content)
        written.flush()
        os.fsync(written.fileno())


def datasets(file: h5py.File) -> dict[str, h5py.Dataset]:
    """Name → dataset for every dataset of a file, those in groups too."""
    found = {}
    file.visititems(
        lambda name, item: (
            found.update({name: item}) if isinstance(item, h5py.Dataset) else None
        )
    )
    return found


def _is_published(name):
    return name.startswith(("char_embed", "CNN/", "CNN_high_", "RNN_"))


def _check_projection(bilm, found):
    """Refuses a projection that bilm-tf would not have used."""
    kernel = found.get("CNN_proj/W_proj")
    if bilm.token_representation.projection is not None or kernel is None:
        return
    if not np.array_equal(kernel[...], np.eye(bilm.config.projection_dim)):
        raise ValueError(
            "The weights hold `CNN_proj/W_proj`, but there is no projection where "
            "`lstm.projection_dim` is the number of filters "
            f"({bilm.config.projection_dim})."
        )


@dataclasses.dataclass(frozen=True)
class _CheckpointVariable:
    """A variable of a checkpoint; like a dataset it is read when indexed."""

    reader: Any
    name: str
    shape: tuple[int, ...]

    def __getitem__(self, index):
        return self.reader.get_tensor(self.name)[index]


def _checkpoint_variables(prefix):
    if not Path(f"{prefix}.index").exists():
        raise FileNotFoundError(
            f"There is no {prefix}.index. A checkpoint is named by the path of its "
            "files without the ending, such as DIRECTORY/model.ckpt-100."
        )
    reader = tf.train.load_checkpoint(prefix)
    shapes = reader.get_variable_to_shape_map().items()
    return {n: _CheckpointVariable(reader, n, tuple(shape)) for n, shape in shapes}


@contextlib.contextmanager
def _reading(prefix):
    try:
        yield
    except (tf.errors.OpError, IndexError) as error:  # IndexError: a file ends early
        raise ValueError(
            f"{prefix} should be a whole checkpoint of TensorFlow, .index and .data "
            f"files. {error}"
        ) from error


def _surplus_tf1(found, table):
    """Names of weights the biLM doesn't have; it may do without the softmax."""
    weights = {n for n in found if n.startswith("lm/") and "/softmax/" not in n}
    # An optimizer's slot is named after its variable, with one part more.
    known = found.keys() | table.keys()
    slots = {name for name in weights if name.rpartition("/")[0] in known}
    return weights - slots - table.keys()


def _check_vocabulary(bilm, found):
    kernel = found.get("lm/softmax/W")
    if bilm.softmax is None or kernel is None:
        return
    if kernel.shape[:1] != (bilm.vocabulary_size,):
        raise ValueError(
            f"`lm/softmax/W` should have a row for each of the {bilm.vocabulary_size} "
            f"words of the vocabulary. Found: {list(kernel.shape)}. Give the "
            "vocabulary file that the checkpoint was trained with."
        )
