"""The weighted sum of the biLM's layers."""

# keras.ops are not annotated; what pyright infers of them has None.
# pyright: reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false
# pyright: reportOptionalIterable=false, reportOptionalOperand=false, reportOptionalSubscript=false

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from elmo_keras.base.argument_checks import check_finite


@keras.saving.register_keras_serializable("elmo_keras")
class ScalarMix(keras.layers.Layer):
    """ELMo's task-specific combination of the biLM layers.

    `γ Σ_j s_j h_j` with `s = softmax(w)`.

    Args:
        layers: `"mix"` (w is trained), `"average"` (every s_j is the same), `"top"` or
            the index of one layer (s_j is 1 there; −1 is the last layer). γ is always
            trained.
        mix: initial values of w, one for each layer; zeros if None. With
            `trainable=False` they stay fixed. w and γ are stored in float32 or more.
        gamma: initial value of γ.
        layer_norm: whether each layer is normalised first, over the features of
            each token (bilm-tf: over all tokens of a batch), without parameters.
        regularizer: Keras regularizer of w. The paper's λ‖w‖² is
            `keras.regularizers.L2(λ)`.

    Call arguments:
        inputs: a list of float tensors `(batch, time, dim)`, one for each
            layer, or one tensor `(batch, layers, time, dim)`.

    Output: `(batch, time, dim)`. The mask is that of the first layer.

    Raises:
        ValueError: `mix` or the layer's index doesn't fit the number of layers, an
            initial value is NaN or infinite, or a call has more or fewer layers than
            the first.

    Example:

    >>> mix = ScalarMix()
    >>> mix([keras.ops.ones((2, 3, 4)), 3 * keras.ops.ones((2, 3, 4))])[0, 0]
    <tf.Tensor: shape=(4,), dtype=float32, numpy=array([2., 2., 2., 2.], dtype=float32)>

    Reference: Peters et al. 2018, equation 1 and Table 2.
    """

    def __init__(
        self,
        layers: str | int = "mix",
        *,
        mix: Sequence[float] | None = None,
        gamma: float = 1.0,
        layer_norm: bool = False,
        regularizer: keras.regularizers.Regularizer | str | dict | None = None,
        **kwargs,
    ):
        is_index = isinstance(layers, int) and not isinstance(layers, bool)
        if not is_index and layers not in ("mix", "average", "top"):
            raise ValueError(
                "`layers` should be 'mix', 'average', 'top' or the index of a layer. "
                f"Received: {layers!r}"
            )
        check_finite("`gamma`", gamma)
        if mix is not None:
            if layers != "mix":
                raise ValueError(
                    "`mix` should be None unless `layers` is 'mix'. "
                    f"Received: {mix!r} with {layers!r}"
                )
            check_finite("`mix`", mix, 1)
            mix = [float(weight) for weight in mix]
        super().__init__(**kwargs)
        self.supports_masking = True
        self.layer_choice = layers
        self.initial_mix = mix
        self.initial_gamma = float(gamma)
        self.layer_norm = layer_norm
        self.regularizer = keras.regularizers.get(regularizer)

    def build(self, input_shape):
        stacked = not isinstance(input_shape[0], (list, tuple))
        self.n_layers = n_layers = input_shape[1] if stacked else len(input_shape)
        # Optimizers can't train few numbers of 8 bits; in half precision they stay 32.
        dtype = keras.backend.result_type("float32", self.variable_dtype)
        gamma = keras.initializers.Constant(self.initial_gamma)
        self.gamma = self.add_weight((), gamma, dtype, name="gamma")
        if self.layer_choice == "mix":
            mix = np.zeros(n_layers) if self.initial_mix is None else self.initial_mix
            self._check_mix(mix)
            self.scalars = self.add_weight(
                (n_layers,),
                keras.initializers.Constant(np.array(mix)),
                dtype,
                regularizer=self.regularizer and _Penalty(self.regularizer),
                name="scalars",
            )
        elif self.layer_choice != "average" and self._index() not in range(
            -n_layers, n_layers
        ):
            raise ValueError(
                f"`layers` should be the index of one of {n_layers} layers. "
                f"Received: {self.layer_choice}"
            )

    def _check_mix(self, mix):
        check_finite("`mix`", mix, 1)
        if len(mix) != self.n_layers:
            raise ValueError(
                f"The mix should have {self.n_layers} weights, one for each layer. "
                f"Received: {list(mix)}"
            )

    def call(self, inputs):
        if not isinstance(inputs, (list, tuple)):
            inputs = ops.unstack(inputs, axis=1)
        if len(inputs) != self.n_layers:
            raise ValueError(
                f"`inputs` should hold {self.n_layers} tensors, one for each biLM "
                f"layer. Received: {len(inputs)}"
            )
        if self.layer_norm:
            inputs = [_normalize(x) for x in inputs]
        gamma = ops.cast(self.gamma, self.compute_dtype)
        if self.layer_choice not in ("mix", "average"):
            return gamma * inputs[self._index()]
        weights = ops.unstack(ops.cast(self.layer_weights(), self.compute_dtype))
        # In one operation: a graph would add the layers in the order of their creation.
        return gamma * tf.add_n([w * x for w, x in zip(weights, inputs)])

    def _index(self):
        return -1 if self.layer_choice == "top" else int(self.layer_choice)

    def layer_weights(self):
        """The weights s of the layers, `(layers,)`; they sum to 1."""
        if self.layer_choice == "mix":
            return ops.softmax(ops.cast(self.scalars, "float32"))
        if self.layer_choice == "average":
            return ops.full((self.n_layers,), 1 / self.n_layers)
        return ops.one_hot(self._index() % self.n_layers, self.n_layers)

    def values(self) -> dict[str, object]:
        """The layers' weights, γ and whether layers are normalised, as JSON values."""
        return {
            "mix": np.asarray(self.layer_weights()).tolist(),
            "gamma": float(self.gamma.numpy()),
            "layer_norm": self.layer_norm,
        }

    def assign(
        self, *, mix: Sequence[float] | None = None, gamma: float | None = None
    ) -> None:
        """Sets w and γ of a built mix, finite numbers; None leaves a value as it is."""
        if gamma is not None:
            check_finite("`gamma`", gamma)
        if mix is not None:
            self._check_mix(mix)
            self.scalars.assign(mix)
        if gamma is not None:
            self.gamma.assign(gamma)

    def compute_mask(self, inputs, mask=None):
        return mask[0] if isinstance(mask, (list, tuple)) else None

    def compute_output_shape(self, input_shape):
        if isinstance(input_shape[0], (list, tuple)):
            return input_shape[0]
        return (input_shape[0], *input_shape[2:])

    def get_config(self):
        return super().get_config() | {
            "layers": self.layer_choice,
            "mix": self.initial_mix,
            "gamma": self.initial_gamma,
            "layer_norm": self.layer_norm,
            "regularizer": keras.regularizers.serialize(self.regularizer),
        }


class _Penalty(keras.regularizers.Regularizer):
    """A regularizer in the default dtype, whatever the layer's: Keras sums the losses."""

    def __init__(self, regularizer):
        self.regularizer = regularizer

    def __call__(self, x):
        return self.regularizer(ops.cast(x, keras.config.floatx()))


def _normalize(x):
    dtype = x.dtype
    if dtype != "float64":
        x = ops.cast(x, "float32")  # 1e-12 is 0 in float16
    mean, variance = ops.moments(x, axes=[-1], keepdims=True)
    return ops.cast((x - mean) * ops.rsqrt(variance + 1e-12), dtype)
