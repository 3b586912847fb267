"""The mix of a biLM's layers in NumPy, see `layers.ScalarMix`.

A token has the same vector in any batch: a product of matrices would depend on their size.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from elmo_keras.base.argument_checks import check_finite


def mix_values(
    n_layers: int,
    layers: str | int = "mix",
    *,
    mix: Sequence[float] | None = None,
    gamma: float = 1.0,
    layer_norm: bool = False,
) -> dict[str, Any]:
    """The values of a `ScalarMix` with these arguments, as its `values` has them."""
    if mix is not None and layers != "mix":
        raise ValueError("`mix` is for `layers` mix. Leave one of them out.")
    scalars = np.zeros(n_layers) if mix is None else mix
    check_finite("The weights of the mix", scalars, 1)
    if len(scalars) != n_layers:
        raise ValueError(
            f"The mix should have {n_layers} weights, one for each layer. Received: "
            f"{list(scalars)}"
        )
    if layers in ("mix", "average"):
        weights = np.exp(np.asarray(scalars, np.float32) - np.max(scalars))
        weights = (weights / weights.sum()).astype(np.float32)
    else:
        index = n_layers - 1 if layers == "top" else int(layers)
        if index >= n_layers:
            raise ValueError(
                f"`layers` should be the index of one of {n_layers} layers. "
                f"Received: {index}"
            )
        weights = np.eye(n_layers)[index]
    return {"mix": weights.tolist(), "gamma": gamma, "layer_norm": layer_norm}


def weighted_sum(layers: Iterable[np.ndarray], weights: Any) -> np.ndarray:
    """The sum of w · x over layers and their float32 weights."""
    first, *others = layers
    result = weights[0] * first
    for weight, layer in zip(weights[1:], others):
        result += weight * layer
    return result


def normalize(layer: np.ndarray) -> np.ndarray:
    """x with mean 0 and variance 1 over the last axis."""
    x = layer - layer.mean(axis=-1, keepdims=True)
    variance = np.einsum("...d,...d->...", x, x)[..., None] / np.float32(x.shape[-1])
    return np.divide(x, np.sqrt(variance + np.float32(1e-12)), out=x)
