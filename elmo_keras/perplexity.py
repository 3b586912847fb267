"""Perplexity of a text with the full softmax, for both ways to read it.

Rows of text are read twice, side by side: with the LSTM state carried over from sentence
to sentence, as the published perplexities are measured, and with each sentence from the
zero state, as `Elmo` reads it.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from elmo_keras.base.progress import Progress
from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.layers.flat_sentences import over_sentences
from elmo_keras.text.characters import characters_of_words
from elmo_keras.text.corpus import Corpus
from elmo_keras.text.vocabulary import Vocabulary
from elmo_keras.text.windows import Plan, window

MAX_ROWS = 32
SENTENCES_A_ROW = 32  # the first of them is read from the zero state in any case
MAX_TOKENS = 2048  # tokens in a window
# Windows have any numbers of words and sentences, and one graph.
WINDOW_SPEC = {
    **dict.fromkeys(
        ("characters", "words", "targets"), tf.TensorSpec((None, None), tf.int32)
    ),
    **dict.fromkeys(
        ("selected", "lengths", "begin", "last"), tf.TensorSpec((None,), tf.int32)
    ),
}


class Perplexity(NamedTuple):
    """The perplexities of both directions."""

    forward: float
    backward: float

    @property
    def mean(self) -> float:
        """exp of the mean loss of both directions: the number that is published."""
        return float(np.sqrt(self.forward * self.backward))

    def __str__(self):
        both = f"forward {self.forward:.1f}, backward {self.backward:.1f}"
        return f"{both}, mean {self.mean:.1f}"


class HeldOutPerplexity(NamedTuple):
    """The perplexities of a text for the two ways to read it."""

    zero: Perplexity  # each sentence from the zero state, as `Elmo` reads it
    carried: Perplexity  # the state carried over, as for published perplexities

    @classmethod
    def from_sums(cls, sums: np.ndarray, n_predictions: int) -> "HeldOutPerplexity":
        """From the log probabilities of a text, as `log_probability_sums` returns them."""
        with np.errstate(over="ignore"):  # after training that diverged
            perplexities = np.exp(-sums / n_predictions).tolist()
        return cls(*(Perplexity(*directions) for directions in perplexities))

    def __str__(self):
        return f"{self.zero}; state carried over: {self.carried}"


def log_probability_sums(
    bilm: BidirectionalLanguageModel,
    corpus: Corpus,
    vocabulary: Vocabulary,
    *,
    worker: int = 0,
    n_workers: int = 1,
    progress: bool = False,
) -> np.ndarray:
    """Log probabilities, summed over every n-th of at most 32 rows of a text.

    float64 `(2, 2)`: from the zero state and carried over, forward and backward.
    """
    n_rows = min(max(len(corpus) // SENTENCES_A_ROW, 1), MAX_ROWS)
    rows = range(n_rows)[worker::n_workers]
    sums = np.zeros((2, 2))
    if not rows:
        return sums
    state = bilm.lstm.zero_state(2 * len(rows))
    state_spec = tf.nest.map_structure(tf.type_spec_from_value, state)
    _window_sums.get_concrete_function(bilm, WINDOW_SPEC, state_spec)  # traces it
    with Progress(total=corpus.n_predictions, disable=not progress) as bar:
        for batch in _windows(corpus, vocabulary, bilm.config, n_rows, rows=rows):
            logs, state = _window_sums(bilm, batch, state)
            sums += logs.numpy()
            bar.update(batch["targets"].shape[1] // 2)
    return sums


def _windows(corpus, vocabulary, config, n_rows, *, rows) -> Iterator[dict[str, Any]]:
    """The windows of these rows, one after another, each to be read in both ways."""
    plan, ids = Plan.in_order(corpus, n_rows), vocabulary.encode(corpus.words)
    tokens = corpus.tokens_of(config)
    n_steps = plan.n_steps(MAX_TOKENS // n_rows)
    time = -(-plan.longest_row // n_steps)  # all windows have about the same time
    for step in range(n_steps):
        read = window(corpus, plan, step, unroll_steps=time, rows=rows)
        distinct, words = np.unique(read.inputs, return_inverse=True)
        carried = np.zeros_like(read.from_zero)
        # Arrays of the real tokens, from the zero state and then carried over.
        arrays = {
            "words": np.tile(words.reshape(2, -1), 2),
            "targets": np.tile(ids[read.targets[:, read.real]], 2),
            "selected": np.flatnonzero(np.tile(read.real, (2, 1))),
            **_segments(np.concatenate([read.from_zero, carried])),
        }
        yield {
            "characters": characters_of_words(
                tf.constant([tokens[i] for i in distinct]), config
            ),
            **{name: tf.constant(array, tf.int32) for name, array in arrays.items()},
        }


def _segments(from_zero) -> dict[str, np.ndarray]:
    """Rows cut where a sentence starts from the zero state, `from_zero` `(rows, time)`.

    A row whose state becomes zero within a window is two sentences to the LSTM, one that
    continues from the previous window and one that starts from zeros. Training, whose
    windows are shorter, has `layers.full_rows` for it.

    >>> {k: v.tolist() for k, v in _segments(np.eye(1, 3, 1) > 0).items()}
    {'lengths': [1, 2], 'begin': [0, 1], 'last': [1]}
    """
    n_rows, time = from_zero.shape
    starting = from_zero.copy()
    starting[:, 0] = True
    starts = np.flatnonzero(starting)
    return {
        "lengths": np.diff(starts, append=starting.size),
        # The row that each segment continues; `n_rows` for zeros.
        "begin": np.where(from_zero.ravel()[starts], n_rows, starts // time),
        "last": np.cumsum(starting.sum(axis=1)) - 1,  # the last segment of each row
    }


@tf.function(autograph=False)
def _window_sums(bilm, batch, state):
    """Log probabilities for both ways to read, and the state of the rows of both."""
    vectors = bilm.token_representation(batch["characters"])
    sums, last = [], []
    for d, direction in enumerate((bilm.lstm.forward, bilm.lstm.backward)):
        before = [
            tf.gather(tf.concat([rows, tf.zeros_like(rows[:1])], 0), batch["begin"])
            for rows in tf.nest.flatten(state[d])
        ]
        # Both streams come in reading order, so neither is reversed here.
        outputs, after = over_sentences(
            direction.call_packed,
            tf.gather(vectors, batch["words"][d]),
            batch["lengths"],
            state=tf.nest.pack_sequence_as(state[d], before),
            selected=batch["selected"],
        )
        logs = bilm.softmax.log_probabilities_of(outputs[-1], batch["targets"][d])
        halves = tf.reshape(tf.cast(logs, tf.float64), [2, -1])
        sums.append(tf.reduce_sum(halves, axis=1))
        last.append(tf.nest.map_structure(lambda s: tf.gather(s, batch["last"]), after))
    return tf.stack(sums, axis=1), last
