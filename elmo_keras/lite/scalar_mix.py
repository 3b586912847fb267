"""The mix of a biLM's layers in NumPy, see `layers.ScalarMix`.

A token has the same vector in any batch: a product of matrices would depend on their size.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from elmo_keras.base.argument_checks import check_finite


def mix_values(scalars: Sequence[float], gamma: float = 1.0) -> dict[str, Any]:
    """Weights before the softmax and γ, as `ScalarMix.values` has them."""
    weights = np.exp(np.asarray(scalars, np.float32) - np.max(scalars))
    weights = (weights / weights.sum()).astype(np.float32).tolist()
    return {"mix": weights, "gamma": float(np.float32(gamma)), "layer_norm": False}


def given_mix(scalars: Sequence[float], n_layers: int) -> dict[str, Any]:
    """`mix_values` of a user's weights; a ValueError says what is wrong with them."""
    check_finite("The weights of the mix", scalars, 1)
    if len(scalars) != n_layers:
        raise ValueError(
            f"The mix should have {n_layers} weights, one for each layer. Received: "
            f"{list(scalars)}"
        )
    return mix_values(scalars)


def weighted_sum(layers: Iterable[np.ndarray], weights: Any) -> np.ndarray:
    """The sum of w · x over layers and their float32 weights."""
    first, *others = layers
    result = weights[0] * first
    for weight, layer in zip(weights[1:], others):
        result += weight * layer
    return result


def normalize(layer: np.ndarray) -> np.ndarray:
    """With mean 0 and variance 1 over the last axis."""
    x = layer - layer.mean(axis=-1, keepdims=True)
    variance = np.einsum("...d,...d->...", x, x)[..., None] / np.float32(x.shape[-1])
    return np.divide(x, np.sqrt(variance + np.float32(1e-12)), out=x)
