"""The weights in bilm-tf's TensorFlow 1 checkpoints: their names, and reading them."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.config import ElmoConfig
from elmo_keras.model_files.checkpoint_variables import (
    CheckpointVariable,
    checkpoint_variables,
)
from elmo_keras.model_files.finite import finite
from elmo_keras.model_files.published import (
    Entry,
    assign,
    check_shapes,
    published_shapes,
    published_table,
    refuse_surplus,
    softmax_shapes,
    softmax_table,
    split,
)

# Part of a published name → its counterpart in bilm-tf's checkpoints.
_TF1_NAMES = {
    "/RNN/MultiRNNCell/Cell": "/rnn/multi_rnn_cell/cell_",
    "/LSTMCell/": "/lstm_cell/",
    "/W_0": "/kernel",
    "/B": "/bias",
    "/W_P_0": "/projection/kernel",
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


def read_tf1_checkpoint(
    bilm: BidirectionalLanguageModel, prefix: str | Path
) -> list[np.ndarray] | None:
    """Reads a trained checkpoint of bilm-tf (TensorFlow 1) into a built biLM.

    Args:
        bilm: the biLM; its softmax is read too, if it has one.
        prefix: path of the checkpoint's files without `.index`, from
            `tf1_checkpoint.find_tf1_checkpoint`.

    Returns:
        Adagrad's accumulators in the order of `bilm.trainable_weights`, or None if
        the checkpoint holds none.

    Raises:
        FileNotFoundError: there is no such checkpoint.
        ValueError: it is damaged, or a variable is missing, has another shape, belongs
            to a layer the biLM doesn't have, or holds NaN. No weight has been changed.
    """
    table = tf1_table(bilm)
    slots = {f"{name}/Adagrad": entry for name, entry in table.items()}
    found = checkpoint_variables(prefix)
    refuse_surplus(_surplus_names(found, table))
    _check_vocabulary(bilm, found)
    if slots.keys().isdisjoint(found):
        slots = {}
    check_shapes({n: entry.shape for n, entry in (table | slots).items()}, found)
    # Everything is read before anything is assigned: only reading shows damage.
    arrays = {name: finite(name, found[name][...]) for name in table | slots}
    for name, entry in table.items():
        assign(entry, arrays[name])
    accumulators = {
        id(variable): rows
        for name, entry in slots.items()
        for variable, rows in split(entry, arrays[name])
    }
    return [accumulators[id(v)] for v in bilm.trainable_weights] if slots else None


def check_tf1_checkpoint(config: ElmoConfig, prefix: str | Path) -> None:
    """Checks that a checkpoint holds the weights that a configuration asks for.

    Only names and shapes are compared: nothing is built, and no values are read.

    Raises:
        FileNotFoundError, ValueError: as in `read_tf1_checkpoint`.
    """
    shapes = {
        _tf1_name(name, config.n_layers): shape
        for name, shape in published_shapes(config).items()
    }
    found = checkpoint_variables(prefix)
    refuse_surplus(_surplus_names(found, shapes))
    check_shapes(shapes, found)


class Tf1Weights(NamedTuple):
    """The weights of a checkpoint.

    Attributes:
        datasets: name → variable, by the names of the published layout.
    """

    datasets: dict[str, CheckpointVariable]


def tf1_weights(config: ElmoConfig, prefix: str | Path) -> Tf1Weights:
    """The weights of a biLM in a checkpoint, and those of its softmax if there is one.

    Raises:
        FileNotFoundError, ValueError: as in `read_tf1_checkpoint`.
    """
    found = checkpoint_variables(prefix)
    names = {
        name: _tf1_name(name, config.n_layers)
        for name in (*published_shapes(config), *softmax_shapes(config, n_words=0))
    }
    datasets = {name: found[tf1] for name, tf1 in names.items() if tf1 in found}
    return Tf1Weights(datasets)


def _surplus_names(found, table):
    """Names of weights the biLM doesn't have; the softmax may be left out."""
    weights = {n for n in found if n.startswith("lm/") and "/softmax/" not in n}
    # An optimizer's slot is named after its variable, with one more part.
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
