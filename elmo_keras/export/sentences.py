"""The inputs of signatures, and the tokens of sentences in them."""

from collections.abc import Callable, Sequence
from typing import Any, get_args

import tensorflow as tf

from elmo_keras.base.argument_checks import check_choices
from elmo_keras.config import Splitting
from elmo_keras.text.characters import tensorflow_text
from elmo_keras.text.tokens import tokenize

INPUT_NAMES = "sentences", "text"  # google/elmo has text


def sentences_spec(
    name: str = INPUT_NAMES[0], shape: Sequence[None] | None = (None,)
) -> tf.TensorSpec:
    return tf.TensorSpec(shape, tf.string, name=name)  # pyright: ignore[reportArgumentType]


def tokens_specs() -> dict[str, tf.TensorSpec]:
    return {
        "tokens": tf.TensorSpec((None, None), tf.string, name="tokens"),
        "sequence_len": tf.TensorSpec((None,), tf.int32, name="sequence_len"),
    }


def longest(tokens: tf.RaggedTensor) -> tf.Tensor:
    return tf.reduce_max(tf.concat([[0], tf.cast(tokens.row_lengths(), tf.int32)], 0))


class SpaceTokenizer:
    """Splits on spaces only, as google/elmo does, not on tabs or line ends."""

    def tokenize(self, text):
        # Each space of a run would become an empty string of 24 bytes.
        text = tf.strings.regex_replace(text, " {2,}", " ")
        tokens = tf.strings.split(text, sep=" ")
        return tf.ragged.boolean_mask(tokens, tokens != "")  # ends of a text are ""


def splitter(
    name: Splitting, normalization: str | None = None
) -> Callable[[tf.Tensor], tf.RaggedTensor]:
    """A function: texts `(batch,)` → the tokens of each, ragged `(batch, tokens)`.

    `"words"`, `"ewt"` and `"gsd"` are rules of `split_words`; `"whitespace"` is ASCII white
    space, as in the files that a model is trained on; `"unicode_script"` of tensorflow-text
    separates punctuation from words. A text is normalised first; bytes that are not UTF-8
    stay as they are.
    """
    check_choices(get_args(Splitting), tokenizer=name)
    check_choices((None, "NFC"), normalization=normalization)
    tokenizer: Any = "spaces" if name == "whitespace" else name
    if name == "unicode_script":
        tokenizer = tensorflow_text().UnicodeScriptTokenizer()
    elif name == "spaces":
        tokenizer = SpaceTokenizer()

    def split(text):
        if normalization:
            text = tensorflow_text().normalize_utf8(text, normalization)
        return tokenize(text, tokenizer)  # pyright: ignore[reportArgumentType]

    return split


def first_tokens(tokens, sequence_len) -> tf.RaggedTensor:
    """The first `sequence_len` tokens of each row, whatever they contain.

    A single length holds for all rows. The graph refuses lengths below 0 or above the
    number of columns, and another number of lengths than of rows. Columns beyond the
    longest length take no memory.
    """
    shape, n_lengths = tf.shape(tokens, tf.int64), tf.size(sequence_len, tf.int64)
    # Every output depends on the lengths, and thereby on the checks.
    sequence_len = ensure(
        sequence_len,
        (n_lengths == shape[0]) | (n_lengths == 1),
        "`sequence_len` should hold one length for each row of `tokens`, such as "
        "tf.fill([tf.shape(tokens)[0]], length): the last batch of a data set may "
        "have fewer rows. Rows and lengths:",
        shape[0],
        n_lengths,
    )
    long = tf.cast(sequence_len, tf.int64)
    sequence_len = ensure(
        sequence_len,
        tf.reduce_all((long >= 0) & (long <= shape[1])),
        "`sequence_len` should be from 0 to the number of columns of `tokens`. Columns "
        "and lengths:",
        shape[1],
        sequence_len,
    )
    sequence_len += tf.zeros(shape[:1], tf.int32)
    longest = tf.reduce_max(tf.concat([[0], sequence_len], axis=0))
    tokens = tokens[:, :longest]
    return tf.RaggedTensor.from_tensor(tokens, lengths=sequence_len)  # pyright: ignore[reportAttributeAccessIssue]


def columns_with_rows(tokens) -> tf.Tensor:
    """The tokens of a request; the graph refuses columns without a row.

    A shape such as `(0, 2**31)` needs no data, but its columns would need memory.
    """
    shape = tf.shape(tokens, tf.int64)
    message = "`tokens` without rows should have no columns. Rows and columns:"
    return ensure(tokens, (shape[0] > 0) | (shape[1] == 0), message, shape)


def ensure(x: tf.Tensor, condition: tf.Tensor, *message) -> tf.Tensor:
    """The tensor; a graph that needs it fails unless the condition holds."""
    check = tf.debugging.Assert(condition, message, summarize=10)
    with tf.control_dependencies([check]):
        return tf.identity(x)
