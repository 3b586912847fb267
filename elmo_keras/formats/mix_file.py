"""The mix that comes with a model: a file of its directory, or variables of a module."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_keras.layers.scalar_mix import ScalarMix
from elmo_keras.util.command import shortened

_MAX_MIX = 2**20  # bytes
_MAX_NUMBER = float(np.finfo(np.float32).max)


class Mix(NamedTuple):
    """The weights w before the softmax and the factor γ of a `layers.ScalarMix`."""

    scalars: tuple[float, ...]
    gamma: float

    def checked(self, n_layers: int, name: str | Path) -> "Mix":
        """The mix itself, which should be that of `n_layers` and hold finite numbers."""
        are_numbers = all(
            type(value) in (int, float) and abs(value) <= _MAX_NUMBER
            for value in (*self.scalars, self.gamma)
        )
        if len(self.scalars) != n_layers or not are_numbers:
            raise ValueError(
                f"{name} should hold a mix, {n_layers} finite `scalars`, one for each "
                f"layer, and a finite `gamma`. Found: {shortened(self._asdict())}"
            )
        return self


def read_mix(path: Path, n_layers: int) -> Mix:
    try:
        with path.open("rb") as file:
            values = json.loads(file.read(_MAX_MIX))
        mix = Mix(tuple(values["scalars"]), values["gamma"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(
            f"{path} should hold JSON with `scalars` and `gamma`. {error!r}"
        ) from error
    return mix.checked(n_layers, path)


def mix_content(mix: ScalarMix | Mix) -> bytes:
    if isinstance(mix, ScalarMix) and mix.layer_choice != "mix":
        raise ValueError(
            "A mix that is kept should have weights, those of `layers='mix'`. "
            f"Received: {mix.layer_choice!r}"
        )
    scalars = np.asarray(mix.scalars, np.float32).tolist()
    values = {"scalars": scalars, "gamma": float(np.float32(mix.gamma))}
    return f"{json.dumps(values, indent=2)}\n".encode()
