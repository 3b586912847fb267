"""TensorFlow checkpoints of bilm-tf and TF 1 Hub modules: variables, read when needed.

Details of a module that no variable shows are `ElmoConfig`'s defaults, as in google/elmo.
"""

import dataclasses
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from elmo_keras.base.argument_checks import shortened
from elmo_keras.base.files import naming_damage
from elmo_keras.config import ElmoConfig
from elmo_keras.formats.model_files import ADAGRAD, ModelFiles, make_mix
from elmo_keras.formats.options import to_options
from elmo_keras.formats.published import N_CHARACTERS


@dataclasses.dataclass(frozen=True)
class CheckpointVariable:
    """A variable of a checkpoint; like an HDF5 dataset it is read when indexed."""

    reader: Any
    prefix: str | Path
    name: str
    shape: tuple[int, ...]

    def __getitem__(self, index: Any) -> np.ndarray:
        with _reading(self.prefix):
            return self.reader.get_tensor(self.name)[index]


def checkpoint_variables(prefix: str | Path) -> dict[str, CheckpointVariable]:
    if not Path(f"{prefix}.index").exists():
        raise FileNotFoundError(
            f"There is no {prefix}.index. A checkpoint is named by the path of its "
            "files without the ending."
        )
    with _reading(prefix):
        reader = tf.train.load_checkpoint(prefix)
        shapes = reader.get_variable_to_shape_map()
    # Shapes should not take more memory than the files justify.
    n_values = sum(map(math.prod, shapes.values()))
    files, start = Path(prefix).parent.iterdir(), f"{Path(prefix).name}.data-"
    size = sum(path.stat().st_size for path in files if path.name.startswith(start))
    with _reading(prefix):
        if size < n_values:
            problem = f"Its .data files have {size:,} bytes for {n_values:,} values."
            raise ValueError(problem)
    return {
        name: CheckpointVariable(reader, prefix, name, tuple(shape))
        for name, shape in shapes.items()
    }


def _reading(prefix):
    return naming_damage(
        f"{prefix} should be a complete TensorFlow checkpoint, .index and .data files."
    )


# Names of a cell in a checkpoint and in a Hub module; a single layer has no number.
_CELL = re.compile(
    r"RNN_(\d+)/(?:rnn/multi_rnn_cell/cell_(\d+)|RNN/MultiRNNCell/Cell(\d+)/rnn|rnn)"
    r"/lstm_cell/(.+)"
)
_CELL_NAMES = {"kernel": "W_0", "bias": "B", "projection/kernel": "W_P_0"}
_SCOPE = "lm/"


def published_name(name: str) -> str:
    """The name that a variable, without its scope, has in published weights."""
    match = _CELL.fullmatch(name)
    if match is None:
        return name
    direction, cell, cell_of_module, part = match.groups()
    cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{cell or cell_of_module or 0}"
    return f"{cell}/LSTMCell/{_CELL_NAMES.get(part, part)}"


def read_checkpoint(prefix: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The weights of a checkpoint, and Adagrad's accumulators as `NAME/Adagrad`."""
    variables = checkpoint_variables(prefix)
    datasets, accumulators = {}, {}
    for name, variable in variables.items():
        whole, _, slot = name.rpartition("/")
        if not name.startswith(_SCOPE):
            continue
        if slot == ADAGRAD:
            whole = published_name(whole.removeprefix(_SCOPE))
            accumulators[f"{whole}/{ADAGRAD}"] = variable
        elif whole not in variables:  # it is not of another optimizer
            datasets[published_name(name.removeprefix(_SCOPE))] = variable
    return datasets, accumulators


_CHARACTERS = "bilm/char_embed"
_PROJECTION = "RNN_0/RNN/MultiRNNCell/Cell{}/LSTMCell/W_P_0"
# Endings of the mix's names: google's modules, and those made with bilm-tf's code.
_SCALARS, _GAMMA = ("/weights", "_ELMo_W"), ("/scaling", "_ELMo_gamma")


def read_hub_module(folder: Path) -> ModelFiles:
    """The module in a folder; its variables are read when needed."""
    prefix = folder / "variables" / "variables"
    if not prefix.with_suffix(".index").exists():
        raise FileNotFoundError(f"{folder} should hold variables/variables.index.")
    variables = checkpoint_variables(prefix)
    scope = _scope(variables, folder)
    datasets: dict[str, Any] = {
        published_name(name.removeprefix(scope)): variable
        for name, variable in variables.items()
        if name.startswith(scope)
    }
    with naming_damage(
        f"{folder} should hold the variables of a biLM. Missing, or of another shape:"
    ):
        config = _config(datasets)
    if datasets["char_embed"].shape[0] == N_CHARACTERS + 1:
        datasets["char_embed"] = datasets["char_embed"][1:]  # without the padding's
    mix = _mix(variables, scope.removesuffix("bilm/") + "aggregation/")
    return ModelFiles(
        config=config,
        options=to_options(config),
        datasets=datasets,
        mix=make_mix(folder, mix, config) if mix else None,
    )


def _scope(variables, folder):
    """The start of the names of the biLM's variables, such as `module/bilm/`."""
    embeddings = [name for name in variables if name.endswith(_CHARACTERS)]
    if len(embeddings) != 1:
        names = ", ".join(sorted(variables)[:3])
        raise ValueError(
            f"{folder} should be a TF 1 Hub module of ELMo, with one variable "
            f"…{_CHARACTERS}. Found {len(variables)} variables: {shortened(names)}, …. Of "
            "another SavedModel, give the model that it was made from."
        )
    return embeddings[0].removesuffix("char_embed")


def _config(variables):
    def shapes(name):
        names = map(name.format, range(len(variables)))
        return [variables[name].shape for name in names if name in variables]

    cell = variables[_PROJECTION.format(0)].shape
    return ElmoConfig(
        cell[0],  # units
        cell[1],  # projection_dim
        tuple((kernel[1], kernel[3]) for kernel in shapes("CNN/W_cnn_{}")),
        n_layers=len(shapes(_PROJECTION)),
        n_highway=len(shapes("CNN_high_{}/W_carry")),
        char_embedding_dim=variables["char_embed"].shape[1],
        lstm_projection=cell[0] == cell[1],
    )


def _mix(variables, scope):
    names = [name for name in variables if name.startswith(scope)]
    scalars, gamma = (
        [variables[name][...] for name in names if name.endswith(endings)]
        for endings in (_SCALARS, _GAMMA)
    )
    if len(scalars) != 1 or len(gamma) != 1 or gamma[0].size != 1:
        return None
    return {"scalars": np.ravel(scalars[0]).tolist(), "gamma": gamma[0].item()}
