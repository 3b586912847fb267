"""TF 1 Hub modules of ELMo, such as google/elmo/3: their variables, not their graph.

What the variables' shapes don't show is that of google/elmo: `ElmoConfig`'s defaults.
"""

from pathlib import Path

import numpy as np

from elmo_keras.config import ElmoConfig
from elmo_keras.formats.checkpoints import checkpoint_variables, published_name
from elmo_keras.formats.folders import Prefix
from elmo_keras.formats.mix_file import Mix
from elmo_keras.formats.published import SizedWeights
from elmo_keras.layers.character_cnn import N_CHARACTERS
from elmo_keras.util.command import shortened

_CHARACTERS = "bilm/char_embed"
_CELL = "RNN_0/RNN/MultiRNNCell/Cell{}/LSTMCell/W_P_0"
# Endings of the mix's names: google's modules, and those made with bilm-tf's code.
_SCALARS, _GAMMA = ("/weights", "_ELMo_W"), ("/scaling", "_ELMo_gamma")


def read_hub_module(files: Prefix, name: str | Path) -> SizedWeights:
    """The module whose variables lie in these files; they are read when needed."""
    found = checkpoint_variables(files.path)
    scope = _scope(found, name)
    own = {
        published_name(variable.removeprefix(scope)): found[variable]
        for variable in found
        if variable.startswith(scope)
    }
    try:
        config = _config(own)
    except (KeyError, IndexError) as error:
        raise ValueError(
            f"{name} should hold the variables of a biLM. Missing, or of another "
            f"shape: {error}"
        ) from error
    if own["char_embed"].shape[0] == N_CHARACTERS + 1:
        own["char_embed"] = own["char_embed"][1:]  # without the padding's
    mix = _mix(found, scope.removesuffix("bilm/") + "aggregation/")
    mix = mix and mix.checked(config.n_layers + 1, name)
    return SizedWeights(config, own, mix, files)


def _scope(found, name):
    """What the names of the biLM's variables start with, such as `module/bilm/`."""
    of_characters = [variable for variable in found if variable.endswith(_CHARACTERS)]
    if len(of_characters) != 1:
        some = ", ".join(sorted(found)[:3])
        raise ValueError(
            f"{name} should be a TF 1 Hub module of ELMo, with one variable "
            f"…{_CHARACTERS}. Found {len(found)} variables: {shortened(some)}, …. Of "
            "another SavedModel, give the model that it was made from."
        )
    return of_characters[0].removesuffix("char_embed")


def _config(variables):
    def shapes(name):
        names = map(name.format, range(len(variables)))
        return [variables[name].shape for name in names if name in variables]

    cell = variables[_CELL.format(0)].shape
    return ElmoConfig(
        cell[0],  # units
        cell[1],  # projection_dim
        [(kernel[1], kernel[3]) for kernel in shapes("CNN/W_cnn_{}")],
        n_layers=len(shapes(_CELL)),
        n_highway=len(shapes("CNN_high_{}/W_carry")),
        char_embedding_dim=variables["char_embed"].shape[1],
    )


def _mix(found, scope):
    names = [name for name in found if name.startswith(scope)]
    scalars, gamma = (
        [found[name][...] for name in names if name.endswith(endings)]
        for endings in (_SCALARS, _GAMMA)
    )
    if len(scalars) != 1 or len(gamma) != 1 or gamma[0].size != 1:
        return None
    return Mix(tuple(np.ravel(scalars[0]).tolist()), gamma[0].item())
