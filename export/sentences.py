"""The tokens of sentences, from the inputs of a signature."""

import tensorflow as tf

from elmo_keras.text.tokenize import tokenize

# The tokenizers that the signature `default` can split its sentences with.
TOKENIZERS = ("spaces", "whitespace", "unicode_script")
# The words of models that answer questions, see `tasks.answer.words_in_graph`.
WORDS = "words"


class SpaceTokenizer:
    """Splits on spaces only, as google/elmo does, not on tabs or line ends."""

    def tokenize(self, text):
        # Each space of a run would become an empty string of 24 bytes.
        text = tf.strings.regex_replace(text, " {2,}", " ")
        tokens = tf.strings.split(text, sep=" ")
        return tf.ragged.boolean_mask(tokens, tokens != "")  # at the ends of a text


def make_tokenizer(name: str):
    """A tokenizer for `elmo_keras.text.tokenize.tokenize`.

    Args:
        name: `"spaces"`; `"whitespace"`, ASCII white space, as in the files that
            a model is trained on; `"unicode_script"`, tensorflow-text's
            `UnicodeScriptTokenizer`, which separates punctuation from words.

    Raises:
        ImportError: tensorflow-text is needed but not installed.
        ValueError: there is no tokenizer of that name.
    """
    if name not in TOKENIZERS:
        raise ValueError(f"`name` should be one of {TOKENIZERS}. Received: {name!r}")
    if name == "spaces":
        return SpaceTokenizer()
    if name == "whitespace":
        return None  # the default of `tokenize`
    return tensorflow_text().UnicodeScriptTokenizer()


def split_sentences(text, tokenizer, normalization=None) -> tf.RaggedTensor:
    """The tokens of each sentence, ragged `(batch, tokens)`.

    Args:
        text: string tensor `(batch,)`.
        tokenizer: as `make_tokenizer` returns it.
        normalization: None, or the Unicode normal form that the text is converted
            to first; bytes that are not UTF-8 stay as they are.
    """
    if normalization is not None:
        text = tensorflow_text().normalize_utf8(text, normalization)
    return tokenize(text, tokenizer)


def real_tokens(tokens, sequence_len) -> tf.RaggedTensor:
    """The first `sequence_len` tokens of each row, whatever they contain.

    Columns beyond the longest length take no memory.

    Args:
        tokens: string tensor `(batch, max_length)`.
        sequence_len: int32 `(batch,)`.

    Raises:
        InvalidArgumentError: when the graph runs, if a length is below 0 or above
            `max_length`, or if there is not one length for each row.
    """
    shape = tf.shape(tokens, tf.int64)
    one_each = tf.debugging.Assert(
        tf.size(sequence_len, tf.int64) == shape[0],
        [
            "`sequence_len` should hold one length for each row of `tokens`. Rows and lengths:",
            shape[0],
            tf.size(sequence_len),
        ],
    )
    in_range = tf.debugging.Assert(
        tf.reduce_all(
            (sequence_len >= 0) & (tf.cast(sequence_len, tf.int64) <= shape[1])
        ),
        [
            "`sequence_len` should be from 0 to the number of columns of `tokens`. Columns and lengths:",
            shape[1],
            sequence_len,
        ],
        summarize=10,
    )
    # Every output depends on the lengths, and thereby on the checks.
    with tf.control_dependencies([one_each, in_range]):
        sequence_len = tf.identity(sequence_len)
    longest = tf.reduce_max(tf.concat([[0], sequence_len], axis=0))
    return tf.RaggedTensor.from_tensor(tokens[:, :longest], lengths=sequence_len)


def columns_with_rows(tokens) -> tf.Tensor:
    """The tokens of a request, unless they claim columns without having a row.

    A shape such as `(0, 2**31)` needs no data, but what is computed for each column
    needs memory.

    Args:
        tokens: string tensor `(batch, max_length)`.

    Raises:
        InvalidArgumentError: when the graph runs, if there are columns but no rows.
    """
    shape = tf.shape(tokens, tf.int64)
    has_rows = tf.debugging.Assert(
        (shape[0] > 0) | (shape[1] == 0),
        ["`tokens` without rows should have no columns. Rows and columns:", shape],
    )
    with tf.control_dependencies([has_rows]):
        return tf.identity(tokens)


def tensorflow_text():
    """The module tensorflow-text.

    Raises:
        ImportError: it is not installed.
    """
    try:  # optional, and its graphs load only in programs that import it
        import tensorflow_text
    except ImportError as error:
        raise ImportError(
            "This tokenizer or normalisation needs tensorflow-text: "
            "pip install 'elmo-keras[text]'."
        ) from error
    return tensorflow_text
