"""The digest of a model, and all else that the vectors in a file depend on."""

import hashlib
import json
from typing import Any

import numpy as np

from elmo_keras.elmo import Elmo
from elmo_keras.layers.scalar_mix import ScalarMix


def model_digest(elmo: Elmo) -> str:
    """SHA-256 of the configuration and the weights of the biLM."""
    digest = hashlib.sha256(json.dumps(elmo.config.to_dict()).encode())
    for weight in elmo.bilm.weights:
        digest.update(weight.numpy().tobytes())
    return digest.hexdigest()


def mix_values(mix: ScalarMix) -> dict[str, Any]:
    """The values of a mix as JSON values."""
    return {
        "mix": np.asarray(mix.layer_weights()).tolist(),
        "gamma": float(mix.gamma.numpy()),
        "layer_norm": mix.layer_norm,
    }
