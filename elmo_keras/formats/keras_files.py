"""Saved Keras models: `.keras` files."""

from pathlib import Path
from typing import Any

import keras
import numpy as np

from elmo_keras.base.files import naming_damage
from elmo_keras.formats.published import finite
from elmo_keras.hub.local_files import not_a_pipe


def load_keras_model(path: Path) -> keras.Model:
    """The model in a `.keras` file of an origin that you trust.

    Keras' safe mode runs no code that the file holds, but builds whatever layers it names.
    """
    not_a_pipe(path)
    with naming_damage(f"{path} should be a sound Keras model."):
        model: Any = keras.models.load_model(path, compile=False, safe_mode=True)
    for weight in model.weights:
        if weight.dtype.startswith(("float", "bfloat")):
            finite(weight.path, np.asarray(weight.value, "float32"))
    return model
