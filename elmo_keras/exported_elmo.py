"""An exported SavedModel as a layer of a Keras model."""

from collections.abc import Mapping
from pathlib import Path

import keras
import tensorflow as tf

from elmo_keras.base.argument_checks import check_choices
from elmo_keras.base.files import naming_damage
from elmo_keras.mirrored_strategy import warn_of_replicas
from elmo_keras.text.tokens import (
    dense_tokens,
    kind_and_rank,
    received,
    refuse_padding_before,
    string_tensor,
)

LENGTHS = "sequence_len"


@keras.saving.register_keras_serializable("elmo_keras")
class ExportedElmo(keras.layers.Layer):
    """The vectors of a SavedModel that `elmo-keras export` wrote.

    The export determines what is trained, and includes dropout and regularizer. A saved
    Keras model holds the weights but not the graph, which is read from `directory` again.

    Args:
        directory: the folder of one version, `OUT_DIR/<version>`.
        output_key: name of the output: `"elmo"`, `"default"` (one vector per
            sentence), `"word_emb"`, `"lstm_outputs1"`…, `"layers"`.

    Call arguments:
        inputs: sentences, string tensor `(batch,)`, split by the tokenizer of the
            export; or tokens, string tensor `(batch, time)` padded with `""` or a
            RaggedTensor. Outside of a functional model, lists or an array of `str`
            as well. Or, as for google/elmo's `tokens`, a dict of dense `tokens` and of
            `sequence_len`, integers `(batch,)`.
        training: whether dropout is applied.

    Output: float32 `(batch, time, 2 · projection_dim)` for `"elmo"`, 0 at
    padding; the reference of SavedModels lists the other outputs. Outputs with one
    vector per token have a mask.

    Raises:
        ValueError: `directory` is not such a SavedModel, or has no such output; or
            the inputs are no such strings.

    Example:

        sentences = keras.Input((), dtype="string")
        vectors = ExportedElmo("exported/1", output_key="default")(sentences)
        model = keras.Model(sentences, keras.layers.Dense(2)(vectors))
    """

    def __init__(self, directory: str | Path, *, output_key: str = "elmo", **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.supports_jit = False  # XLA has no strings
        self.directory = str(directory)
        self.output_key = output_key
        self.loaded = _load(self.directory)
        outputs = self.loaded.signatures["tokens"].structured_outputs
        self.output_shapes = {name: tuple(spec.shape) for name, spec in outputs.items()}
        check_choices(sorted(self.output_shapes), output_key=output_key)
        for variable in self.loaded.variables:
            weight = keras.Variable(
                variable,
                shape=variable.shape,
                dtype=variable.dtype.name,
                trainable=variable.trainable,
                name=variable.name.split(":")[0].replace("/", "_"),
            )
            self._track_variable(weight)
        self.built = True

    def __call__(self, inputs, *args, **kwargs):
        is_dict = isinstance(inputs, Mapping) and inputs.keys() == {"tokens", LENGTHS}
        strings = string_tensor(inputs["tokens"] if is_dict else inputs)
        kind, rank = kind_and_rank(strings)
        if kind != "string" or rank not in ((2,) if is_dict else (1, 2)):
            raise ValueError(
                "`inputs` should be strings: sentences (batch,) or tokens (batch, "
                "time), or a dict of `tokens` and `sequence_len`. "
                f"Received: {received(strings, declared='()')}"
            )
        warn_of_replicas(strings)
        if is_dict:
            strings = {"tokens": strings, LENGTHS: inputs[LENGTHS]}
        else:
            refuse_padding_before(strings)
        return super().__call__(strings, *args, **kwargs)

    def call(self, inputs, training=False):
        for loss in self.loaded.regularization_losses:
            self.add_loss(loss())
        outputs = self.loaded(_arguments(inputs), training=bool(training), as_dict=True)
        return outputs[self.output_key]

    def compute_mask(self, inputs, mask=None):
        rank = len(self.output_shapes[self.output_key])
        if rank != 3 or any(map(keras.utils.is_keras_tensor, tf.nest.flatten(inputs))):
            return None  # a functional model computes its masks when it runs
        if isinstance(inputs, dict):
            return tf.sequence_mask(inputs[LENGTHS], tf.shape(inputs["tokens"])[1])
        if inputs.shape.rank == 1:
            return tf.sequence_mask(self.loaded.sequence_len(inputs))
        return dense_tokens(inputs)[1]

    def compute_output_spec(self, inputs, training=False):
        _, *rest = self.output_shapes[self.output_key]
        inputs = inputs["tokens"] if isinstance(inputs, dict) else inputs
        time = inputs.shape[1] if len(inputs.shape) == 2 else None
        rest = [time if size is None else size for size in rest]
        return keras.KerasTensor((inputs.shape[0], *rest), "float32")

    def get_config(self):
        return super().get_config() | {
            "directory": self.directory,
            "output_key": self.output_key,
        }


def _load(directory):
    with naming_damage("`directory` should be the folder of an exported version."):
        loaded = tf.saved_model.load(directory)
    if not hasattr(loaded, "sequence_len"):
        raise ValueError(
            "`directory` should be a SavedModel that `elmo-keras export` wrote. "
            f"Received: {directory}"
        )
    return loaded


def _arguments(inputs):
    if isinstance(inputs, dict):
        return inputs | {LENGTHS: tf.cast(inputs[LENGTHS], tf.int32)}
    if inputs.shape.rank == 1:
        return inputs
    tokens, mask = dense_tokens(inputs)
    lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    return {"tokens": tokens, LENGTHS: lengths}
