"""Published HDF5 weights: the one table of their names, for reading and writing."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import h5py
import keras
import numpy as np

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.layers.panels import from_panels, to_panels
from elmo_keras.model_files.hdf5 import datasets
from elmo_keras.model_files.many_langs import ManyLangsModel


@dataclasses.dataclass(frozen=True)
class MatrixInPanels:
    """A variable that holds a matrix in panels (`layers.panels`)."""

    variable: keras.Variable

    @property
    def shape(self):
        """The shape of the matrix."""
        deep, wide, depth, width = self.variable.shape
        return deep * depth, wide * width


class Entry(NamedTuple):
    """An array of the file: its shape, and the variables that make it up.

    Several variables are concatenated along the first axis.
    """

    shape: tuple[int, ...]
    variables: tuple[keras.Variable | MatrixInPanels, ...]


def published_table(bilm: BidirectionalLanguageModel) -> dict[str, Entry]:
    """Name → entry for every dataset of the published layout.

    Gates are in the published order i, j, f, o, as in the layers.
    """
    cnn = bilm.token_representation
    table = {"char_embed": _entry(cnn.embeddings)}
    if bilm.config.word_embedding_dim:
        table["word_embed"] = _entry(cnn.word_embeddings)
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
            # Without the forget gate's bias of 1.0, which is added at run time, unless
            # `config.forget_bias` is 0.
            table[f"{cell}/B"] = _entry(lstm.bias)
            table[f"{cell}/W_P_0"] = _entry(MatrixInPanels(lstm.projection_kernel))
    return table


def softmax_table(bilm: BidirectionalLanguageModel) -> dict[str, Entry]:
    """Name → entry of the softmax, which published HDF5 files leave out."""
    return {
        "softmax/W": _entry(bilm.softmax.kernel),
        "softmax/b": _entry(bilm.softmax.bias),
    }


def _entry(*variables):
    rows = sum(variable.shape[0] for variable in variables)
    return Entry((rows, *variables[0].shape[1:]), variables)


def read_weights(
    bilm: BidirectionalLanguageModel, file: h5py.File | ManyLangsModel
) -> None:
    """Reads published weights into a built biLM.

    Raises:
        ValueError: a dataset is missing, has another shape, or belongs to a
            layer the biLM doesn't have. No weight has been changed.
    """
    table = published_table(bilm)
    found = file.datasets if isinstance(file, ManyLangsModel) else datasets(file)
    _check_projection(bilm, found)
    refuse_surplus(
        [name for name in found if name not in table and _is_published(name)]
    )
    read_table(table, found)


def read_table(table: dict[str, Entry], found: Mapping[str, Any]) -> None:
    """Reads every entry of `table`.

    Args:
        table: name → entry to read.
        found: name → array-like with a `shape`, read by indexing with `[...]`.

    Raises:
        ValueError: an array is missing or has another shape. No weight has been
            changed.
    """
    check_table(table, found)
    for name, entry in table.items():
        assign(entry, found[name][...])


def check_table(table: Mapping[str, Entry], found: Mapping[str, Any]) -> None:
    """Checks that `found` holds every entry of `table` in its shape.

    Raises:
        ValueError: an array is missing or has another shape.
    """
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


def refuse_surplus(surplus: Iterable[str]) -> None:
    """Refuses names of weights that the biLM doesn't have.

    Raises:
        ValueError: there is such a name.
    """
    if surplus:
        raise ValueError(
            f"The weights hold {sorted(surplus)}, which a biLM of these options "
            "doesn't have. Check that options and weights belong together."
        )


def assign(entry: Entry, array: np.ndarray) -> None:
    """Assigns an array of the published layout to the entry's variables."""
    for variable, rows in split(entry, array):
        variable.assign(rows)


def split(
    entry: Entry, array: np.ndarray
) -> Iterator[tuple[keras.Variable, np.ndarray]]:
    """Yields each variable of an entry with its values, which are rows of the array."""
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
        # If the projection would keep the size, bilm-tf reads none. AllenNLP always
        # reads one.
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


def _is_published(name):
    return name.startswith(("char_embed", "word_embed", "CNN/", "CNN_high_", "RNN_"))


def _check_projection(bilm, found):
    """Refuses a projection that bilm-tf would not apply."""
    kernel = found.get("CNN_proj/W_proj")
    if bilm.token_representation.projection is not None or kernel is None:
        return
    if not np.array_equal(kernel[...], np.eye(bilm.config.projection_dim)):
        raise ValueError(
            "The weights hold `CNN_proj/W_proj`, but there is no projection where "
            "`lstm.projection_dim` is the number of filters "
            f"({bilm.config.projection_dim})."
        )
