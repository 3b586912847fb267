"""Bounds of the memory that a batch of texts takes in a task model."""

from collections.abc import Mapping

import tensorflow as tf

# The networks of tasks are padded, unlike the language model: 11 KB for each position
# in a tagger of 100 units with a language model of 64 dimensions.
MAX_POSITIONS = 2**16
# Attention compares each token with all others: 4 bytes for each pair, and again.
MAX_PAIRS = 2**26


def bounded(
    texts: Mapping[str, tf.RaggedTensor], *, compares_tokens: bool
) -> dict[str, tf.RaggedTensor]:
    """The texts, if a batch of them fits into memory.

    Args:
        texts: field → tokens, ragged `(batch, tokens)`.
        compares_tokens: whether the model compares each token with all others of the
            longer text.

    Raises:
        InvalidArgumentError: when the graph runs, if the batch is too large, or the
            fields have different numbers of texts.
    """
    lengths = [text.row_lengths() for text in texts.values()]
    longest = tf.reduce_max(tf.concat([[0], *lengths], axis=0))
    rows = tf.size(lengths[0], tf.int64)
    checks = [
        tf.debugging.Assert(
            tf.reduce_all([tf.size(x, tf.int64) == rows for x in lengths]),
            [f"{', '.join(texts)} should have as many texts each."],
        ),
        _at_most(
            MAX_POSITIONS,
            len(lengths) * rows * longest,
            "Texts times the tokens of the longest one",
        ),
    ]
    if compares_tokens:
        checks.append(
            _at_most(
                MAX_PAIRS,
                rows * longest * longest,
                "Texts times the square of the tokens of the longest one",
            )
        )
    with tf.control_dependencies(checks):
        return {
            field: text.with_flat_values(tf.identity(text.flat_values))
            for field, text in texts.items()
        }


def _at_most(limit, found, what):
    return tf.debugging.Assert(
        found <= limit,
        [
            f"{what} should be at most {limit}. Send fewer or shorter ones. Found:",
            found,
        ],
    )
