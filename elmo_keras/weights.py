"""The published HDF5 weights: the one place that knows their names."""

from typing import NamedTuple

import h5py
import keras
import numpy as np

from elmo_keras.bilm import BidirectionalLanguageModel


class Entry(NamedTuple):
    """A dataset of the file: its shape, and the variables that make it up.

    Several variables stand one below the other, along the first axis.
    """

    shape: tuple[int, ...]
    variables: tuple[keras.Variable, ...]


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
            table[f"{cell}/W_0"] = _entry(lstm.kernel, lstm.recurrent_kernel)
            # Without the forget gate's bias of 1.0, which is added at run time.
            table[f"{cell}/B"] = _entry(lstm.bias)
            table[f"{cell}/W_P_0"] = _entry(lstm.projection_kernel)
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


def read_weights(bilm: BidirectionalLanguageModel, file: h5py.File) -> None:
    """Reads published weights into a built biLM.

    Raises:
        ValueError: a dataset is missing, has another shape, or belongs to a
            layer the biLM doesn't have. Nothing was changed then.
    """
    table = published_table(bilm)
    found = _datasets(file)
    _check_projection(bilm, found)
    surplus = [name for name in found if name not in table and _is_published(name)]
    if surplus:
        raise ValueError(
            f"The weights hold {sorted(surplus)}, which a biLM of these options "
            "doesn't have. Check that options and weights belong together."
        )
    read_table(table, file)


def read_table(table: dict[str, Entry], file: h5py.File) -> None:
    """Reads every entry of `table` from `file`.

    Raises:
        ValueError: a dataset is missing or has another shape; nothing was
            changed then.
    """
    found = _datasets(file)
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
    for name, entry in table.items():
        _assign(entry, found[name][...])


def _assign(entry, array):
    first = 0
    for variable in entry.variables:
        rows = variable.shape[0] if len(entry.variables) > 1 else array.shape[0]
        variable.assign(array[first : first + rows].reshape(variable.shape))
        first += rows


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
        arrays = [
            keras.ops.convert_to_numpy(keras.ops.cast(variable.value, "float32"))
            for variable in entry.variables
        ]
        file[name] = np.concatenate(arrays).reshape(entry.shape)


def _datasets(file):
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
