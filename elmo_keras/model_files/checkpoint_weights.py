"""The weights in TensorFlow 1 checkpoints of bilm-tf, by their published names."""

import re

from elmo_keras.model_files.checkpoint_variables import checkpoint_variables
from elmo_keras.model_files.folders import Prefix

# The cell of a checkpoint, of one with a single layer, and of a Hub module.
_CELL = re.compile(
    r"RNN_(\d+)/(?:rnn/multi_rnn_cell/cell_(\d+)|RNN/MultiRNNCell/Cell(\d+)/rnn|rnn)"
    r"/lstm_cell/(.+)"
)
_OF_CELLS = {"kernel": "W_0", "bias": "B", "projection/kernel": "W_P_0"}
_SCOPE, ADAGRAD = "lm/", "Adagrad"


def published_name(name: str) -> str:
    """The name that a variable, without its scope, has in published weights."""
    found = _CELL.fullmatch(name)
    if found is None:
        return name
    direction, cell, cell_of_module, part = found.groups()
    cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{cell or cell_of_module or 0}"
    return f"{cell}/LSTMCell/{_OF_CELLS.get(part, part)}"


class CheckpointWeights:
    """The weights of a checkpoint; each is read when it is needed.

    Attributes:
        files: the checkpoint's files.
        datasets: name → variable, those of the softmax included.
        accumulators: `NAME/Adagrad` → variable; empty after other optimizers.

    Raises:
        FileNotFoundError: there is no such checkpoint.
        ValueError: it is damaged.
    """

    def __init__(self, files: Prefix):
        self.files = files
        found = checkpoint_variables(files.path)
        self.datasets, self.accumulators = {}, {}
        for name, variable in found.items():
            whole, _, slot = name.rpartition("/")
            if not name.startswith(_SCOPE):
                continue
            if slot == ADAGRAD:
                self.accumulators[f"{_name(whole)}/{ADAGRAD}"] = variable
            elif whole not in found:  # it is not of another optimizer
                self.datasets[_name(name)] = variable


def _name(variable):
    return published_name(variable.removeprefix(_SCOPE))
