"""A Keras layer that splits texts."""

import keras
import tensorflow as tf

from elmo_keras.argument_checks import check_choices
from elmo_keras.text.graph_tokenizer import split_words_in_graph
from elmo_keras.text.token_batches import string_tensor

_NAMES = "words", "spaces"


@keras.saving.register_keras_serializable("elmo_keras")
class Tokenize(keras.layers.Layer):
    """Splits texts into tokens, for an `Elmo` layer after it.

    Args:
        tokenizer: `"words"`, as `split_words`, or `"spaces"`: at ASCII white space.

    Call arguments:
        texts: string tensor `(batch,)` or `(batch, 1)`.

    Output: string tensor `(batch, time)` padded with `""`; time is at least 1.

    >>> Tokenize()(tf.constant(["It rains.", ""])).numpy().tolist()
    [[b'It', b'rains', b'.'], [b'', b'', b'']]
    """

    def __init__(self, tokenizer: str = "words", **kwargs):
        check_choices(_NAMES, tokenizer=tokenizer)
        super().__init__(dtype="string", **kwargs)
        self.supports_jit = False  # XLA has no strings
        self.tokenizer = tokenizer

    def call(self, texts):
        texts = string_tensor(texts)
        if texts.shape.rank not in (1, 2) or texts.shape[1:] not in ((), (1,), (None,)):
            raise ValueError(
                "Texts should be strings `(batch,)` or `(batch, 1)`. Received: "
                f"{texts.shape}"
            )
        texts = tf.reshape(texts, [-1])
        split = split_words_in_graph if self.tokenizer == "words" else tf.strings.split
        tokens = split(texts).to_tensor()
        missing = tf.maximum(1 - tf.shape(tokens)[1], 0)
        return tf.pad(tokens, [[0, 0], [0, missing]], constant_values="")  # pyright: ignore[reportArgumentType]

    def compute_output_spec(self, texts):
        return keras.KerasTensor((texts.shape[0], None), dtype="string")

    def get_config(self):
        config = super().get_config() | {"tokenizer": self.tokenizer}
        del config["dtype"]
        return config
