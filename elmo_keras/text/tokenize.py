"""From raw text to tokens."""

import tensorflow as tf


def tokenize(text: tf.Tensor, tokenizer=None) -> tf.RaggedTensor:
    """Tokens of each text.

    Args:
        text: string tensor `(batch,)`.
        tokenizer: None to split on ASCII white space, with core operations
            only; or a tensorflow-text tokenizer, an object whose `tokenize`
            takes a string tensor `(batch,)` and returns a RaggedTensor.

    Returns:
        Ragged string tensor `(batch, tokens)`.

    Example:

    >>> tokenize(["a b", ""]).to_list()
    [[b'a', b'b'], []]
    """
    text = tf.convert_to_tensor(text, tf.string)
    return tf.strings.split(text) if tokenizer is None else tokenizer.tokenize(text)
