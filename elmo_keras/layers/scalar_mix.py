"""The weighted sum of the biLM's layers."""

import keras
import numpy as np
from keras import ops

from elmo_keras.argument_checks import check_finite, check_flags
from elmo_keras.layers.arguments_config import ArgumentsConfig


@keras.saving.register_keras_serializable("elmo_keras")
class ScalarMix(ArgumentsConfig, keras.layers.Layer):
    """ELMo's task-specific combination of the biLM layers.

    `γ Σ_j s_j h_j` with `s = softmax(w)`.

    Args:
        scheme: `"learned"` (w is trained), `"average"` (every s_j is the same)
            or the index of one layer (s_j is 1 there; −1 is the last layer). γ is
            always trained.
        initial_weights: initial values of w, one for each layer; zeros if None.
            With `trainable=False` they stay fixed. w and γ are stored in float32 or
            more.
        initial_gamma: initial value of γ.
        layer_norm: whether each layer is normalised first, over the features of
            each token, without parameters. (bilm-tf normalises over all tokens
            of a batch, so that a vector depends on the rest of the batch.)
        regularizer: Keras regularizer of w. The paper's λ‖w‖² is
            `keras.regularizers.L2(λ)`.

    Call arguments:
        inputs: a list of float tensors `(batch, time, dim)`, one for each
            layer, or one tensor `(batch, layers, time, dim)`.

    Output: `(batch, time, dim)`. The mask is that of the first layer.

    Raises:
        ValueError: `initial_weights` or the layer's index doesn't fit the
            number of layers, an initial value is NaN or infinite, or a call has more
            or fewer layers than the first.

    Example:

    >>> mix = ScalarMix()
    >>> mix([keras.ops.ones((2, 3, 4)), 3 * keras.ops.ones((2, 3, 4))])[0, 0]
    <tf.Tensor: shape=(4,), dtype=float32, numpy=array([2., 2., 2., 2.], dtype=float32)>

    Reference: Peters et al. 2018, equation 1 and Table 2.
    """

    def __init__(
        self,
        scheme="learned",
        initial_weights=None,
        initial_gamma=1.0,
        *,
        layer_norm=False,
        regularizer=None,
        **kwargs,
    ):
        one_layer = isinstance(scheme, int) and not isinstance(scheme, bool)
        if not one_layer and scheme not in ("learned", "average"):
            raise ValueError(
                "`scheme` should be 'learned', 'average' or the index of a layer. "
                f"Received: {scheme!r}"
            )
        if initial_weights is not None and scheme != "learned":
            raise ValueError(
                "`initial_weights` should be None unless `scheme` is 'learned'. "
                f"Received: {initial_weights!r} with {scheme!r}"
            )
        check_finite("`initial_gamma`", initial_gamma)
        check_flags(layer_norm=layer_norm)
        super().__init__(**kwargs)
        self.supports_masking = True
        self.scheme = scheme
        if initial_weights is not None:
            check_finite("`initial_weights`", initial_weights, 1)
            initial_weights = [float(weight) for weight in initial_weights]
        self.initial_weights = initial_weights
        self.initial_gamma = initial_gamma
        self.layer_norm = layer_norm
        self.regularizer = keras.regularizers.get(regularizer)

    def build(self, input_shape):
        stacked = not isinstance(input_shape[0], (list, tuple))
        self.n_layers = n_layers = input_shape[1] if stacked else len(input_shape)
        # Optimizers can't train few numbers of 8 bits; in half precision they stay 32.
        dtype = keras.backend.result_type("float32", self.variable_dtype)
        gamma = keras.initializers.Constant(self.initial_gamma)
        self.gamma = self.add_weight((), gamma, dtype, name="gamma")
        if self.scheme == "learned":
            penalty = self.regularizer and _Penalty(self.regularizer)
            self.scalars = self.add_weight(
                (n_layers,), self._initial, dtype, regularizer=penalty, name="scalars"
            )
        elif self.scheme != "average" and not -n_layers <= self.scheme < n_layers:
            raise ValueError(
                f"`scheme` should be the index of one of {n_layers} layers. "
                f"Received: {self.scheme}"
            )

    def _initial(self, shape, dtype=None):
        values = self.initial_weights
        values = [0.0] * self.n_layers if values is None else values
        if len(values) != self.n_layers:
            raise ValueError(
                f"`initial_weights` should hold {self.n_layers} numbers, one for each "
                f"layer. Received: {values}"
            )
        return ops.convert_to_tensor(values, dtype=dtype)

    def call(self, inputs):
        if not isinstance(inputs, (list, tuple)):
            inputs = ops.unstack(inputs, axis=1)
        if len(inputs) != self.n_layers:
            raise ValueError(
                f"`inputs` should hold {self.n_layers} tensors, one for each biLM "
                f"layer. Received: {len(inputs)}"
            )
        if self.layer_norm:
            inputs = [_normalized(x) for x in inputs]
        gamma = ops.cast(self.gamma, self.compute_dtype)
        if self.scheme not in ("learned", "average"):
            return gamma * inputs[self.scheme]
        weights = ops.unstack(ops.cast(self.layer_weights(), self.compute_dtype))
        return gamma * sum(w * x for w, x in zip(weights, inputs))

    def layer_weights(self):
        """The weights s of the layers, `(layers,)`; they sum to 1."""
        if self.scheme == "learned":
            return ops.softmax(ops.cast(self.scalars, "float32"))
        if self.scheme == "average":
            return ops.full((self.n_layers,), 1 / self.n_layers)
        return ops.one_hot(self.scheme % self.n_layers, self.n_layers)

    def values(self):
        """The layers' weights, γ and whether layers are normalised, as JSON values."""
        return {
            "mix": np.asarray(self.layer_weights()).tolist(),
            "gamma": float(self.gamma.numpy()),
            "layer_norm": self.layer_norm,
        }

    def assign(self, scalars=None, gamma=None):
        """Sets w and γ of a built mix, finite numbers; None leaves a value as it is."""
        if scalars is not None:
            check_finite("The weights of the mix", scalars, 1)
            if len(scalars) != self.n_layers:
                raise ValueError(
                    f"The mix should have {self.n_layers} weights, one for each layer. "
                    f"Received: {list(scalars)}"
                )
        if gamma is not None:
            check_finite("The factor of the mix", gamma)
            self.gamma.assign(gamma)
        if scalars is not None:
            self.scalars.assign(scalars)

    def compute_mask(self, inputs, mask=None):
        return mask[0] if isinstance(mask, (list, tuple)) else None

    def compute_output_shape(self, input_shape):
        if isinstance(input_shape[0], (list, tuple)):
            return input_shape[0]
        return (input_shape[0], *input_shape[2:])


class _Penalty(keras.regularizers.Regularizer):
    """A regularizer in the default dtype, whatever the layer's: Keras sums the losses."""

    def __init__(self, regularizer):
        self.regularizer = regularizer

    def __call__(self, x):
        return self.regularizer(ops.cast(x, keras.config.floatx()))


def _normalized(x):
    dtype = x.dtype
    if dtype != "float64":
        x = ops.cast(x, "float32")  # 1e-12 is 0 in float16
    mean, variance = ops.moments(x, axes=[-1], keepdims=True)
    return ops.cast((x - mean) * ops.rsqrt(variance + 1e-12), dtype)
