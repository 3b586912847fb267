"""Texts and tokens in any form as lists and string tensors; where real tokens are."""

import reprlib
from typing import Any, NamedTuple, get_args

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.base.argument_checks import check_choices
from elmo_keras.config import TokenizerName
from elmo_keras.text.length_batches import padded_arrays
from elmo_keras.text.sentences import encoded, is_table, plain, warn_of_spaces
from elmo_keras.text.word_rules import MARK, word_rules


def tokenize(text: tf.Tensor, tokenizer: Any = "spaces") -> tf.RaggedTensor:
    """Tokens of each text.

    Args:
        text: string tensor `(batch,)`.
        tokenizer: `"spaces"` to split on ASCII white space, or `"words"`, `"ewt"` or
            `"gsd"` as `split_words` does, all with core operations only; or a
            tensorflow-text tokenizer, an object whose `tokenize` takes a string tensor
            `(batch,)` and returns a RaggedTensor.

    Returns:
        Ragged string tensor `(batch, tokens)`.

    Example:

    >>> tokenize(["a b", ""]).to_list()
    [[b'a', b'b'], []]
    """
    text = tf.convert_to_tensor(string_tensor(text), tf.string)
    if not isinstance(tokenizer, str):
        return tokenizer.tokenize(text)
    check_choices(get_args(TokenizerName), tokenizer=tokenizer)
    if tokenizer == "spaces":
        return tf.strings.split(text)
    return placed_words(text, tokenizer).words


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
        is_flat = rank in (1, 2) and texts.shape[1:] in ((), (1,), (None,))
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


class PlacedWords(NamedTuple):
    """Words, and the number of bytes of their text before them and up to their ends."""

    words: tf.RaggedTensor  # (batch, words)
    begins: tf.RaggedTensor
    ends: tf.RaggedTensor


def placed_words(texts: tf.Tensor, tokenizer: str = "words") -> PlacedWords:
    """The words that `split_words` gives for texts `(batch,)` in UTF-8, with their places.

    Bytes that are not UTF-8 are spaces.
    """
    texts = tf.strings.regex_replace(texts, MARK, " ")
    for pattern, replacement in word_rules(tokenizer, explicit=True):
        texts = tf.strings.regex_replace(texts, pattern, replacement)
    parts = tf.strings.split(texts, MARK)
    rows = parts.value_rowids()
    first = tf.cast(tf.gather(parts.row_starts(), rows), tf.int32)
    lengths = tf.strings.length(parts.flat_values)
    ends = tf.cumsum(lengths)
    before = tf.gather(tf.concat([[0], ends], 0), first)  # earlier texts
    is_word = (tf.range(tf.size(rows)) - first) % 2 == 1
    is_word &= lengths > 0
    columns = parts.flat_values, ends - lengths - before, ends - before
    rows, *columns = (tf.boolean_mask(x, is_word) for x in (rows, *columns))
    words = tf.RaggedTensor.from_value_rowids(columns[0], rows, parts.nrows())  # pyright: ignore[reportAttributeAccessIssue]
    return PlacedWords(words, *map(words.with_flat_values, columns[1:]))


def string_tensor(inputs):
    """Strings, and lists of them of any lengths, as a tensor; other inputs unchanged.

    A list or array of strings becomes `(strings,)`; one of lists, `(lists, time)`,
    padded with `""`. Tuples count as lists, and so do columns of pandas and pyarrow.
    A placeholder of Keras' becomes one of strings.
    """
    if is_placeholder(inputs) and inputs.shape.rank in (1, 2):
        return tf.ensure_shape(tf.fill(tf.shape(inputs), ""), inputs.shape)
    if not tf.is_tensor(inputs) and not keras.utils.is_keras_tensor(inputs):
        inputs = plain(inputs, padded=True)
        if is_table(inputs):
            raise TypeError(f"Give one column of the {type(inputs).__name__}.")
    if isinstance(inputs, (str, bytes)):
        return tf.constant(inputs)
    if not isinstance(inputs, (list, tuple)):
        return inputs
    if inputs and isinstance(inputs[0], (str, bytes)):
        return tf.constant(_encode_row(inputs), tf.string)
    return padded_tokens(inputs, min_time=0)


def is_placeholder(inputs) -> bool:
    """Whether these are the floats with which Keras builds a saved model.

    It knows only the shapes that a subclassed model was called with, not the dtypes.
    """
    if tf.executing_eagerly() or not tf.is_tensor(inputs):
        return False
    name = getattr(tf.compat.v1.get_default_graph(), "name", "")
    return inputs.dtype.is_floating and name.startswith("scratch_graph")


def padded_tokens(sentences, min_time: int = 1) -> tf.Tensor:
    """Lists of tokens as a string tensor `(sentences, time)`, padded with `""`."""
    lists = [_encode_row(row) for row in sentences]
    warn_of_spaces(b"".join(token for row in lists for token in row))
    rows = [np.array(row, object) for row in lists]
    narrowest = np.full(min_time, b"", object)
    return tf.constant(padded_arrays([*rows, narrowest], b"")[:-1], tf.string)


def pad_ragged(tokens: tf.RaggedTensor) -> tf.Tensor:
    """Tokens `(batch, time)`, padded with `""`; time is at least 1."""
    dense = tokens.to_tensor()
    missing = tf.maximum(1 - tf.shape(dense)[1], 0)
    return tf.pad(dense, [[0, 0], [0, missing]], constant_values="")  # pyright: ignore[reportArgumentType]


def _encode_row(row):
    row = plain(row)
    is_list = isinstance(row, (list, tuple))
    wrong = [x for x in row if not isinstance(x, (str, bytes))] if is_list else [row]
    if wrong:
        raise ValueError(
            "Tokens in lists should be a list of `str` for each sentence, such as "
            '[["A", "sentence"], ["Another"]]. Numbers should be a tensor. Received in '
            f"a list: {reprlib.repr(wrong[0])} of type {type(wrong[0]).__name__}"
        )
    return [encoded(token) for token in row]


def kind_and_rank(inputs) -> tuple[str | None, int | None]:
    """`"string"`, `"integer"`, `"float"` or None, and the number of axes or None."""
    if not hasattr(inputs, "dtype") or not hasattr(inputs, "shape"):
        return None, None
    dtype, kind = tf.as_dtype(inputs.dtype), None
    if dtype == tf.string:
        kind = "string"
    elif dtype.is_integer or dtype.is_floating:
        kind = "integer" if dtype.is_integer else "float"
    return kind, tf.TensorShape(inputs.shape).rank


def received(inputs, declared: str = "(None,)") -> str:
    """Describes inputs that a layer refuses, and the most likely reason.

    `declared` is the shape that `keras.Input` should have got for strings.
    """
    if not hasattr(inputs, "dtype"):
        return f"an object of type {type(inputs).__name__}"
    text = f"{tf.as_dtype(inputs.dtype).name} of shape {inputs.shape}"
    if kind_and_rank(inputs)[0] == "float":
        text += ". A Keras model for strings should begin with "
        text += f'keras.Input({declared}, dtype="string"), also a Sequential one'
    return text


def dense_tokens(tokens) -> tuple[tf.Tensor, tf.Tensor]:
    """Tokens as a dense tensor, and the mask `(batch, time)` of the real ones.

    All tokens of a RaggedTensor are real; of strings those up to the last that is not
    `""`; of character ids `(batch, time, characters)` those with any above 0; of layers
    `(batch, layers, time, dim)` those up to the last that is not 0.
    """
    if isinstance(tokens, tf.RaggedTensor):
        return tokens.to_tensor(), tf.sequence_mask(tokens.row_lengths())
    tokens = tf.convert_to_tensor(tokens)
    if tokens.dtype == tf.string:
        return tokens, token_mask(tokens)
    if tokens.dtype.is_floating:
        return tokens, up_to_last(tf.reduce_any(tokens != 0, axis=(1, 3)))
    return tokens, tf.reduce_any(tokens != 0, axis=-1)


def refuse_padding_before(tokens: Any) -> None:
    """Raises a ValueError if `""` comes before the tokens of a row; only in eager calls."""
    is_dense = isinstance(tokens, tf.Tensor) and tokens.shape.rank == 2
    if is_dense and tokens.dtype == tf.string and tf.executing_eagerly():
        is_empty: Any = tokens == ""
        if tf.reduce_any(is_empty[:, :1] & ~tf.reduce_all(is_empty, 1, keepdims=True)):
            raise ValueError(
                'Sentences should be padded with "" after their tokens, as '
                'keras.utils.pad_sequences does with padding="post". Received: "" before '
                "them"
            )


def token_mask(tokens: tf.Tensor) -> tf.Tensor:
    return up_to_last(tokens != "")


def up_to_last(mask: tf.Tensor) -> tf.Tensor:
    """True up to the last true position of each row of `(..., time)`."""
    return tf.range(tf.shape(mask)[-1]) <= last_position(mask)


def last_position(mask: tf.Tensor) -> tf.Tensor:
    """The last true position of each row, below 0 if there is none: `(..., 1)`."""
    real = tf.where(mask, tf.range(tf.shape(mask)[-1]), -1)
    return tf.reduce_max(real, axis=-1, keepdims=True)
