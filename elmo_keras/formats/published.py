"""Published HDF5 weights: the one table of their names, for reading and writing."""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import h5py
import keras
import numpy as np
import tensorflow as tf

from elmo_keras.argument_checks import shortened
from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.config import ElmoConfig
from elmo_keras.formats.quantise import write_packed
from elmo_keras.layers.blocked_weights import blocked, unblock
from elmo_keras.layers.character_cnn import N_CHARACTERS

VALUES_AT_ONCE = 2**25  # values of a variable that are assigned together
_OF_PROJECTION = (
    "In options.json, `elmo_keras: {lstm_projection: true}` says that LSTM layers have "
    "a projection although `lstm.dim` is `lstm.projection_dim`. "
)
_CHECKED_AT_ONCE = 2**24  # what is checked together; a softmax has 4e8 values


@dataclasses.dataclass(frozen=True)
class BlockedMatrix:
    """A variable that holds a matrix in blocks (`layers.blocked_weights`)."""

    variable: keras.Variable

    @property
    def shape(self):
        deep, wide, depth, width = self.variable.shape
        return deep * depth, wide * width


class Entry(NamedTuple):
    """An array of the file: its shape, and the variables it is made of, along axis 0."""

    shape: tuple[int, ...]
    variables: tuple[keras.Variable | BlockedMatrix, ...]


# Name of a dataset → its shape, and where in the biLM the variables are that it holds.
_Table = dict[str, tuple[Any, *tuple[str, ...]]]
_CNN = "token_representation"
_BLOCKED = "recurrent_kernel", "projection_kernel"


def _published(config: ElmoConfig) -> _Table:
    """The published layout; gates are in the order i, j, f, o."""
    n_filters, dim = config.n_filters, config.projection_dim
    dictionary, word_dim = config.dictionary, config.word_embedding_dim
    table: _Table = {}
    if config.has_characters:
        n_characters = dictionary.n_characters if dictionary else N_CHARACTERS
        shape = n_characters, config.char_embedding_dim
        table["char_embed"] = shape, f"{_CNN}.embeddings"
    if word_dim and dictionary is not None:
        name = "embedding" if config.is_of_tokens else "word_embed"
        table[name] = (dictionary.n_words, word_dim), f"{_CNN}.word_embeddings"
    for i, (width, count) in enumerate(config.filters):
        shape = 1, width, config.char_embedding_dim, count
        table[f"CNN/W_cnn_{i}"] = shape, f"{_CNN}.kernels.{i}"
        table[f"CNN/b_cnn_{i}"] = (count,), f"{_CNN}.biases.{i}"
    for i in range(config.n_highway):
        shape, highway = (n_filters, n_filters), f"{_CNN}.highways.{i}"
        for gate in ("carry", "transform"):
            table[f"CNN_high_{i}/W_{gate}"] = shape, f"{highway}.{gate}_kernel"
            table[f"CNN_high_{i}/b_{gate}"] = (n_filters,), f"{highway}.{gate}_bias"
    if config.has_projection:
        shape = word_dim + n_filters, dim
        table["CNN_proj/W_proj"] = shape, f"{_CNN}.projection.kernel"
        table["CNN_proj/b_proj"] = (dim,), f"{_CNN}.projection.bias"
    for d, direction in enumerate(("forward", "backward")):
        for j in range(config.n_layers):
            cell = f"RNN_{d}/RNN/MultiRNNCell/Cell{j}/LSTMCell"
            lstm, size = f"lstm.{direction}.lstms.{j}", 4 * config.units
            shape = 2 * dim, size
            table[f"{cell}/W_0"] = shape, f"{lstm}.kernel", f"{lstm}.recurrent_kernel"
            # Without the forget gate's bias of 1.0, which is added at run time, unless
            # `config.forget_bias` is 0.
            table[f"{cell}/B"] = (size,), f"{lstm}.bias"
            if config.has_lstm_projection:
                shape = config.units, dim
                table[f"{cell}/W_P_0"] = shape, f"{lstm}.projection_kernel"
    return table


def _entries(table: _Table, bilm: BidirectionalLanguageModel) -> dict[str, Entry]:
    return {
        name: Entry(shape, tuple(_variable(bilm, path) for path in paths))
        for name, (shape, *paths) in table.items()
    }


def _variable(item: Any, path: str) -> Any:
    for part in path.split("."):
        item = item[int(part)] if part.isdecimal() else getattr(item, part)
    return BlockedMatrix(item) if path.endswith(_BLOCKED) else item


def published_shapes(config: ElmoConfig) -> dict[str, tuple[int, ...]]:
    """Name → shape of every dataset of the published layout; nothing is built."""
    return {name: shape for name, (shape, *_) in _published(config).items()}


def n_parameters(config: ElmoConfig) -> int:
    """Number of parameters of a biLM without its softmax."""
    return sum(map(math.prod, published_shapes(config).values()))


def published_table(bilm: BidirectionalLanguageModel) -> dict[str, Entry]:
    """Name → entry of each published dataset."""
    return _entries(_published(bilm.config), bilm)


def softmax_table(bilm: BidirectionalLanguageModel) -> dict[str, Entry]:
    """Name → entry of the softmax, which published HDF5 files leave out."""
    kernel, bias = softmax_shapes(bilm.config, bilm.vocabulary_size or 0).values()
    table: _Table = {
        "softmax/W": (kernel, "softmax.kernel"),
        "softmax/b": (bias, "softmax.bias"),
    }
    return _entries(table, bilm)


def softmax_shapes(config: ElmoConfig, n_words: int) -> dict[str, tuple[int, ...]]:
    return {"softmax/W": (n_words, config.projection_dim), "softmax/b": (n_words,)}


def check_weights(config: ElmoConfig, datasets: Mapping[str, Any]) -> None:
    """Checks the names and shapes by a configuration; reads no values."""
    shapes = published_shapes(config)
    kernel, dim = datasets.get("CNN_proj/W_proj"), config.projection_dim
    if config.is_of_tokens:  # also with those of a character model, which it replaces
        datasets = {k: v for k, v in datasets.items() if k in shapes or k[:4] == "RNN_"}
    if (
        not config.has_projection
        and kernel is not None
        and (kernel.shape != (dim, dim) or not np.array_equal(kernel[...], np.eye(dim)))
    ):  # bilm-tf would not apply it
        raise ValueError(
            "The weights hold `CNN_proj/W_proj`, but there is no projection where "
            f"`lstm.projection_dim` is the number of filters ({dim})."
        )
    published = "char_embed", "word_embed", "CNN/", "CNN_high_", "RNN_"
    surplus = [n for n in datasets if n not in shapes and n.startswith(published)]
    if surplus:
        names = shortened(sorted(_name_in_file(n, datasets[n]) for n in surplus))
        reason = _OF_PROJECTION if surplus[0].endswith("W_P_0") else ""
        raise ValueError(
            f"The weights hold {names}, which a biLM of these options doesn't have. "
            f"{reason}Check that options and weights belong together."
        )
    check_shapes(shapes, datasets)


def read_table(table: dict[str, Entry], datasets: Mapping[str, Any]) -> None:
    """Reads every entry of `table`; no weight is changed if an array is damaged."""
    check_shapes({name: entry.shape for name, entry in table.items()}, datasets)
    # All are read before any is assigned. Arrays of HDF5 files are not copied here.
    arrays = {name: finite_values(name, datasets[name]) for name in table}
    for name, entry in table.items():
        assign(entry, arrays[name])


def check_shapes(
    shapes: Mapping[str, tuple[int, ...]], datasets: Mapping[str, Any]
) -> None:
    for name, shape in shapes.items():
        if name not in datasets:
            names = sorted(map(_name_in_file, datasets, datasets.values()))
            raise ValueError(
                f"The weights should hold `{name}` of shape {list(shape)}. "
                f"Found: {shortened(names)}"
            )
        actual = list(datasets[name].shape)
        if actual != list(shape):
            raise ValueError(
                f"`{_name_in_file(name, datasets[name])}` should have the shape "
                f"{list(shape)} by the options. Found: {actual}"
            )


def finite(name: str, array: np.ndarray) -> np.ndarray:
    """An array as float32, not copied if it is; refused with NaN, infinity or text."""
    if array.dtype.kind not in "fiu":
        raise ValueError(f"`{name}` should hold numbers. Found: {array.dtype}")
    with np.errstate(over="ignore"):
        array = np.asarray(array, np.float32)
    values = array.reshape(-1)
    starts = range(0, len(values), _CHECKED_AT_ONCE)  # in pieces, to take little memory
    if all(np.isfinite(values[i : i + _CHECKED_AT_ONCE]).all() for i in starts):
        return array
    is_finite = np.isfinite(array)
    index = np.unravel_index(np.argmin(is_finite), array.shape)
    raise ValueError(
        f"`{name}` should hold finite numbers. Found: {array[index]} at "
        f"{[int(i) for i in index]}, and {np.sum(~is_finite) - 1:,} more. Get the "
        "file again."
    )


def finite_values(name: str, array: Any) -> np.ndarray:
    return finite(_name_in_file(name, array), array[...])


def _name_in_file(name, array):
    """The name that users find in their file, such as `lm/…` in a checkpoint."""
    return getattr(array, "name", name)


def assign(entry: Entry, array: np.ndarray) -> None:
    for variable, rows in split(entry, array):
        of_replicas = isinstance(variable.value, tf.distribute.DistributedValues)
        if rows.size <= VALUES_AT_ONCE or of_replicas:
            variable.assign(rows)
            continue
        # Without a copy of all rows, such as those of a large softmax.
        n_rows = max(1, VALUES_AT_ONCE * len(rows) // rows.size)
        for first in range(0, len(rows), n_rows):
            part = slice(first, first + n_rows)
            variable.value[part].assign(tf.cast(rows[part], variable.dtype))


def split(
    entry: Entry, array: np.ndarray
) -> Iterator[tuple[keras.Variable, np.ndarray]]:
    """Yields each variable of an entry with its values, which are rows of the array."""
    first = 0
    for variable in entry.variables:
        n_rows = variable.shape[0] if len(entry.variables) > 1 else array.shape[0]
        rows = array[first : first + n_rows]
        first += n_rows
        if isinstance(variable, BlockedMatrix):
            yield variable.variable, blocked(tf.constant(rows)).numpy()
        else:
            yield variable, rows.reshape(variable.shape)


def write_weights(
    bilm: BidirectionalLanguageModel, file: h5py.File, *, packed: bool = False
) -> None:
    write_table(published_table(bilm), file, packed=packed)
    if bilm.config.has_characters and bilm.token_representation.projection is None:
        # If the projection would keep the size, bilm-tf reads none. AllenNLP always
        # reads one.
        dim = bilm.config.projection_dim
        file["CNN_proj/W_proj"] = np.eye(dim, dtype=np.float32)
        file["CNN_proj/b_proj"] = np.zeros(dim, dtype=np.float32)


def write_table(
    table: dict[str, Entry], file: h5py.File, *, packed: bool = False
) -> None:
    """Writes every entry as float32, or matrices as int8."""
    for name, entry in table.items():
        if packed:
            write_packed(file, name, array_of(entry), len(entry.variables))
        else:
            file[name] = array_of(entry)


def array_of(entry: Entry) -> np.ndarray:
    return np.concatenate(list(map(_rows, entry.variables))).reshape(entry.shape)


def _rows(variable) -> Any:
    if isinstance(variable, BlockedMatrix):
        return unblock(_rows(variable.variable)).numpy()
    return keras.ops.convert_to_numpy(keras.ops.cast(variable.value, "float32"))
