"""The mean LSTM state after a sentence, as the state before the first token of any."""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.formats.start_state_file import StartState
from elmo_keras.layers.flat_sentences import sentence_numbers, with_boundaries
from elmo_keras.layers.packing import pack_sentences
from elmo_keras.text.sentences import tokens_of_sentences
from elmo_keras.text.word_ids import boundary_tokens

MAX_ROWS = 32
SENTENCES_A_ROW = 32


def mean_end_state(
    bilm: BidirectionalLanguageModel, sentences: Iterable[Sequence[str]]
) -> StartState:
    """The mean of the LSTM states at the ends of a text's sentences.

    The text is read as in training: in at most 32 rows, with the state carried over
    from sentence to sentence, forward as `<S> w_1 … w_n` and backward as
    `</S> w_n … w_1`.

    Args:
        bilm: a built biLM.
        sentences: as in `Embedder.encode`.

    Raises:
        ValueError: there is no sentence.
    """
    sentences = list(tokens_of_sentences(sentences))
    if not sentences:
        raise ValueError("`sentences` should hold at least one sentence. It is empty.")
    n_rows = min(max(len(sentences) // SENTENCES_A_ROW, 1), MAX_ROWS)
    rows = np.array_split(np.arange(len(sentences)), n_rows)  # the longest come first
    state_after = _graph(bilm)
    state, sums = bilm.lstm.zero_state(n_rows), [0.0, 0.0]  # of outputs and cells
    for numbers in itertools.zip_longest(*rows):
        batch = [sentences[number] for number in numbers if number is not None]
        words = tf.constant(list(itertools.chain(*batch)), tf.string)
        lengths = tf.constant([len(sentence) for sentence in batch])
        state = state_after(words, lengths, _rows(state, range(len(batch))))
        for part in range(2):
            ends = [[layer[part] for layer in layers] for layers in state]
            sums[part] += tf.reduce_sum(tf.cast(ends, "float64"), axis=2).numpy()
    return StartState(*((x / len(sentences)).astype(np.float32) for x in sums))


def _graph(bilm):
    """A function from flat sentences and the state before them to the state after."""

    def state_after(words, lengths, state):
        boundaries = tf.constant(boundary_tokens(bilm.config))
        x = bilm.token_vectors(with_boundaries(words, lengths, boundaries))
        # Each direction reads one of the two boundaries of each sentence.
        rows = sentence_numbers(lengths + 1)
        from_begin = tf.range(tf.size(rows)) + rows
        directions = bilm.lstm.forward, bilm.lstm.backward
        return [
            _last(direction, tf.gather(x, from_begin + d), lengths + 1, state=state[d])
            for d, direction in enumerate(directions)
        ]

    return tf.function(state_after, reduce_retracing=True, autograph=False)


def _last(direction, x, lengths, *, state):
    """The state of one direction after flat sentences."""
    packing = pack_sentences(lengths, direction.reverse)
    state = _rows(state, packing.rows)
    x = tf.gather(x, packing.tokens)
    _, state = direction.call_packed(x, packing.sizes, state)
    return _rows(state, tf.math.invert_permutation(packing.rows))


def _rows(state, rows):
    return tf.nest.map_structure(lambda x: tf.gather(x, rows), state)
