"""All layers of many sentences, in batches of bounded size."""

from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from elmo_keras.cli.progress_line import Progress
from elmo_keras.elmo import Elmo
from elmo_keras.text.length_batches import length_batches
from elmo_keras.text.token_batches import padded_tokens

TOKENS_AT_ONCE = 2**13


def sentence_layers(
    elmo: Elmo, sentences: Sequence[Sequence[str]], verbose: int = 0
) -> Iterator[tuple[int, np.ndarray]]:
    """All layers of each sentence, computed with others of similar length.

    Args:
        elmo: computes the layers.
        sentences: tokens; a sentence may be empty.
        verbose: 1 for a progress line on standard error.

    Yields:
        The index of a sentence and its layers `(layers, tokens, dim)`, from the
        shortest sentence to the longest.
    """
    tokens = tf.TensorSpec((None, None), tf.string)
    # A concrete function: TensorFlow warns if a `tf.function` is made repeatedly.
    layers_of = tf.function(elmo.layers, autograph=False).get_concrete_function(tokens)
    n_tokens, done = max(1, sum(map(len, sentences))), 0
    with Progress(bool(verbose)) as progress:
        lengths = [len(sentence) + 2 for sentence in sentences]  # with boundaries
        for batch in length_batches(lengths, max_tokens=TOKENS_AT_ONCE):
            tokens = padded_tokens([sentences[i] for i in batch], min_time=0)
            layers = layers_of(tokens).numpy()
            for i, of_sentence in zip(batch, layers):
                yield i, of_sentence[:, : len(sentences[i])]
            now = sum(len(sentences[i]) for i in batch)
            done += now
            progress.add(now, done / n_tokens)
