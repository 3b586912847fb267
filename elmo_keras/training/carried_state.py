"""The probability of a text when the LSTM state is carried over from sentence to sentence.

bilm-tf measures the published perplexities like this.
"""

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.layers.packing import over_real_tokens
from elmo_keras.text.characters import character_ids
from elmo_keras.text.corpus import Corpus
from elmo_keras.text.vocabulary import Vocabulary
from elmo_keras.training.windows import Plan, Window, window

MAX_ROWS = 64
SENTENCES_A_ROW = 32  # only the first of them starts from the zero state
MAX_TOKENS = 4096  # in a window


def carried_log_probabilities(
    bilm: BidirectionalLanguageModel,
    corpus: Corpus,
    vocabulary: Vocabulary,
    *,
    worker: int = 0,
    n_workers: int = 1,
    verbose: int = 0,
) -> np.ndarray:
    """Log probability of a text in nats, with the state carried over.

    The text is cut into up to 64 rows of at least 32 sentences. Each row is read in
    order, its first sentence from the zero state.

    Args:
        bilm: a biLM with a softmax.
        corpus: the text.
        vocabulary: the words of the softmax.
        worker, n_workers: which rows are summed: every n-th, from this number on.
        verbose: 1 for a progress bar.

    Returns:
        float64 `(2,)`, forward and backward.
    """
    n_rows = min(max(len(corpus) // SENTENCES_A_ROW, 1), MAX_ROWS)
    rows, time = slice(worker, None, n_workers), MAX_TOKENS // n_rows
    n_own_rows = len(range(n_rows)[rows])
    total = np.zeros(2)
    if not n_own_rows:
        return total
    plan, ids = Plan.in_order(corpus, n_rows), vocabulary.encode(corpus.words)
    state = bilm.lstm.zero_state(n_own_rows)
    n_steps = plan.n_steps(time)
    progress = keras.utils.Progbar(n_steps, verbose=verbose, unit_name="window")
    for step in range(n_steps):
        read = window(corpus, plan, step, unroll_steps=time, rows=rows)
        batch = _batch(corpus, read, bilm.config) | {"targets": ids[read.targets]}
        logs, state = _of_window(bilm, batch, state)
        total += logs.numpy()
        progress.add(1)
    return total


def _batch(corpus: Corpus, read: Window, config) -> dict:
    distinct, words = np.unique(read.inputs, return_inverse=True)
    return {
        "characters": character_ids([corpus.words[i] for i in distinct], config),
        "words": tf.constant(words.reshape(read.inputs.shape), tf.int32),
        "real": tf.constant(read.real),
    }


@tf.function(reduce_retracing=True, autograph=False)
def _of_window(bilm, batch, state):
    """Log probabilities of both directions: float64 (2,), and the state."""
    x = tf.gather(bilm.token_representation(batch["characters"]), batch["words"])
    sums, last = [], []
    for d, direction in enumerate((bilm.lstm.forward, bilm.lstm.backward)):
        # Both streams come in reading order, so neither is reversed here.
        outputs, direction_state = over_real_tokens(
            direction.call_packed, x[d], batch["real"], state=state[d]
        )
        logs = bilm.softmax.log_probabilities_of(
            tf.boolean_mask(outputs[-1], batch["real"]),
            tf.boolean_mask(batch["targets"][d], batch["real"]),
        )
        sums.append(tf.reduce_sum(tf.cast(logs, tf.float64)))
        last.append(direction_state)
    return tf.stack(sums), last
