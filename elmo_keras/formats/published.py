"""Published HDF5 weights: the one table of their names, for reading and writing."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from elmo_keras.base.argument_checks import shortened
from elmo_keras.base.block_shape import block_shape
from elmo_keras.config import ElmoConfig
from elmo_keras.text.word_ids import PADDING

N_CHARACTERS = PADDING + 1  # bytes, start and end of sentence and word, padding
_PROJECTION_HINT = (
    "In options.json, `elmo_keras: {lstm_projection: true}` says that LSTM layers have "
    "a projection although `lstm.dim` is `lstm.projection_dim`. "
)
_VALUES_AT_ONCE = 2**24  # checked together; a softmax has 4e8 values


class Row(NamedTuple):
    """A dataset: its shape, and where the biLM has the variables that it holds."""

    shape: tuple[int, ...]
    paths: tuple[str, ...]  # to variables that are joined along axis 0


BLOCKED = "recurrent_kernel", "projection_kernel"  # stored in blocks
_CNN = "token_representation"


def published_rows(config: ElmoConfig) -> dict[str, Row]:
    """Name → row of each published dataset; gates are in the order i, j, f, o."""
    n_filters, dim = config.n_filters, config.projection_dim
    dictionary, word_dim = config.dictionary, config.word_embedding_dim
    rows: dict[str, Row] = {}

    def add(name, shape, *paths):
        rows[name] = Row(shape, paths)

    if config.has_characters:
        n_characters = dictionary.n_characters if dictionary else N_CHARACTERS
        shape = n_characters, config.char_embedding_dim
        add("char_embed", shape, f"{_CNN}.embeddings")
    if word_dim and dictionary is not None:
        name = "embedding" if config.is_of_tokens else "word_embed"
        add(name, (dictionary.n_words, word_dim), f"{_CNN}.word_embeddings")
    for i, (width, count) in enumerate(config.filters):
        shape = 1, width, config.char_embedding_dim, count
        add(f"CNN/W_cnn_{i}", shape, f"{_CNN}.kernels.{i}")
        add(f"CNN/b_cnn_{i}", (count,), f"{_CNN}.biases.{i}")
    for i in range(config.n_highway):
        shape, highway = (n_filters, n_filters), f"{_CNN}.highways.{i}"
        for gate in ("carry", "transform"):
            add(f"CNN_high_{i}/W_{gate}", shape, f"{highway}.{gate}_kernel")
            add(f"CNN_high_{i}/b_{gate}", (n_filters,), f"{highway}.{gate}_bias")
    if config.has_projection:
        shape = word_dim + n_filters, dim
        add("CNN_proj/W_proj", shape, f"{_CNN}.projection.kernel")
        add("CNN_proj/b_proj", (dim,), f"{_CNN}.projection.bias")
    for d, direction in enumerate(("forward", "backward")):
        for j in range(config.n_layers):
            cell = f"RNN_{d}/RNN/MultiRNNCell/Cell{j}/LSTMCell"
            lstm, size = f"lstm.{direction}.lstms.{j}", 4 * config.units
            shape = 2 * dim, size
            add(f"{cell}/W_0", shape, f"{lstm}.kernel", f"{lstm}.recurrent_kernel")
            # Without the forget gate's bias of 1.0, which is added at run time, unless
            # `config.forget_bias` is 0.
            add(f"{cell}/B", (size,), f"{lstm}.bias")
            if config.has_lstm_projection:
                shape = config.units, dim
                add(f"{cell}/W_P_0", shape, f"{lstm}.projection_kernel")
    return rows


def n_parameters(config: ElmoConfig) -> int:
    """Number of parameters of a biLM without its softmax."""
    return sum(math.prod(row.shape) for row in published_rows(config).values())


def softmax_rows(config: ElmoConfig, n_words: int) -> dict[str, Row]:
    """Name → row of the softmax, which published HDF5 files leave out."""
    shape = n_words, config.projection_dim
    return {
        "softmax/W": Row(shape, ("softmax.kernel",)),
        "softmax/b": Row((n_words,), ("softmax.bias",)),
    }


def digest(config: ElmoConfig, arrays: Mapping[str, np.ndarray]) -> str:
    """`bilm.digest()`, SHA-256 of the configuration and of Keras' variables in their order."""
    variables: list[tuple[str, np.ndarray]] = []
    for name, row in published_rows(config).items():
        # Where there are two, they are x W and h W.
        parts = np.split(arrays[name], [config.projection_dim] * (len(row.paths) - 1))
        variables += zip(row.paths, parts)
    result = hashlib.sha256(json.dumps(config.to_dict()).encode())
    for path, array in sorted(variables, key=lambda variable: _keras_rank(variable[0])):
        if path.endswith(BLOCKED):
            deep, wide, depth, width = block_shape(*array.shape)
            blocks = array.reshape(deep, depth, wide, width)
            array = blocks.transpose(0, 2, 1, 3)
        result.update(np.ascontiguousarray(array, np.float32).data)
    return result.hexdigest()


def _keras_rank(path):
    """Keras has the variables of a layer in the order of their creation."""
    part = path.removeprefix(f"{_CNN}.").partition(".")[0]
    first = "embeddings", "kernels", "biases", "word_embeddings"
    return first.index(part) if part in first else len(first)


def check_weights(config: ElmoConfig, datasets: Mapping[str, Any]) -> None:
    """Checks the names and shapes by a configuration; reads no values."""
    rows = published_rows(config)
    kernel, dim = datasets.get("CNN_proj/W_proj"), config.projection_dim
    if config.is_of_tokens:  # its vectors replace those of characters
        datasets = {k: v for k, v in datasets.items() if k in rows or k[:4] == "RNN_"}
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
    surplus = [n for n in datasets if n not in rows and n.startswith(published)]
    if surplus:
        names = shortened(sorted(_name_in_file(n, datasets[n]) for n in surplus))
        reason = _PROJECTION_HINT if surplus[0].endswith("W_P_0") else ""
        raise ValueError(
            f"The weights hold {names}, which a biLM of these options doesn't have. "
            f"{reason}Check that options and weights belong together."
        )
    check_shapes(rows, datasets)


def check_shapes(rows: Mapping[str, Any], datasets: Mapping[str, Any]) -> None:
    """Refuses datasets without the names and the `shape` of all rows."""
    for name, shape in ((name, row.shape) for name, row in rows.items()):
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
    starts = range(0, len(values), _VALUES_AT_ONCE)  # pieces take less memory
    if all(np.isfinite(values[i : i + _VALUES_AT_ONCE]).all() for i in starts):
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
