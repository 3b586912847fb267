"""TF 1 Hub modules of ELMo, such as google/elmo/3: their variables, not their graph.

What the variables' shapes don't show is that of google/elmo: `ElmoConfig`'s defaults.
"""

from pathlib import Path
from typing import Any

import numpy as np

from elmo_keras.argument_checks import shortened
from elmo_keras.config import ElmoConfig
from elmo_keras.formats.checkpoints import checkpoint_variables, published_name
from elmo_keras.formats.model_files import ModelFiles, make_mix
from elmo_keras.layers.character_cnn import N_CHARACTERS

_CHARACTERS = "bilm/char_embed"
_CELL = "RNN_0/RNN/MultiRNNCell/Cell{}/LSTMCell/W_P_0"
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
    try:
        config = _config(datasets)
    except (KeyError, IndexError) as error:
        raise ValueError(
            f"{folder} should hold the variables of a biLM. Missing, or of another "
            f"shape: {error}"
        ) from error
    if datasets["char_embed"].shape[0] == N_CHARACTERS + 1:
        datasets["char_embed"] = datasets["char_embed"][1:]  # without the padding's
    mix = _mix(variables, scope.removesuffix("bilm/") + "aggregation/")
    return ModelFiles(
        config=config,
        options=config.to_options(),
        datasets=datasets,
        mix=make_mix(folder, mix, config) if mix else None,
    )


def _scope(variables, folder):
    """What the names of the biLM's variables start with, such as `module/bilm/`."""
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

    cell = variables[_CELL.format(0)].shape
    return ElmoConfig(
        cell[0],  # units
        cell[1],  # projection_dim
        tuple((kernel[1], kernel[3]) for kernel in shapes("CNN/W_cnn_{}")),
        n_layers=len(shapes(_CELL)),
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
