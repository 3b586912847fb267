"""A Keras layer that splits texts."""

from typing import get_args

import keras
import tensorflow as tf

from elmo_keras.argument_checks import check_choices
from elmo_keras.config import TokenizerName
from elmo_keras.text.tokens import (
    kind_and_rank,
    pad_ragged,
    received,
    string_tensor,
    tokenize,
)

SHAPES = (), (1,), (None,)  # of texts, after the axis of the batch


@keras.saving.register_keras_serializable("elmo_keras")
class Tokenize(keras.layers.Layer):
    """Splits texts into tokens, for an `Elmo` layer after it.

    Args:
        tokenizer: `"words"`, `"ewt"` or `"gsd"`, see `split_words`; or `"spaces"`: at
            ASCII white space.

    Call arguments:
        texts: string tensor `(batch,)` or `(batch, 1)`.

    Output: string tensor `(batch, time)` padded with `""`; time is at least 1.

    >>> Tokenize()(tf.constant(["It rains.", ""])).numpy().tolist()
    [[b'It', b'rains', b'.'], [b'', b'', b'']]
    """

    def __init__(self, tokenizer: str = "words", **kwargs):
        check_choices(get_args(TokenizerName), tokenizer=tokenizer)
        super().__init__(dtype="string", **kwargs)
        self.supports_jit = False  # XLA has no strings
        self.tokenizer = tokenizer

    def call(self, texts):
        texts = string_tensor(texts)
        kind, rank = kind_and_rank(texts)
        is_flat = rank in (1, 2) and texts.shape[1:] in SHAPES
        if kind != "string" or not is_flat:
            raise ValueError(
                "Texts should be strings `(batch,)` or `(batch, 1)`. Received: "
                f"{received(texts, '()')}"
            )
        return pad_ragged(tokenize(tf.reshape(texts, [-1]), self.tokenizer))

    def compute_output_spec(self, texts):
        return keras.KerasTensor((texts.shape[0], None), dtype="string")

    def get_config(self):
        config = super().get_config() | {"tokenizer": self.tokenizer}
        del config["dtype"]
        return config
