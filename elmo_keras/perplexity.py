"""The perplexity of a language model on held-out text, with the full softmax.

Rows of text are read twice, side by side: once with the LSTM state carried over from
sentence to sentence, as the published perplexities are measured, and once with each
sentence from the zero state, as `Elmo` reads it.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.text.characters import characters_of_words
from elmo_keras.text.corpus import Corpus
from elmo_keras.text.vocabulary import Vocabulary
from elmo_keras.text.windows import Plan, window

MAX_ROWS = 32
SENTENCES_A_ROW = 32  # the first of them is read from the zero state in any case
MAX_TOKENS = 2048  # in a window


class Perplexity(NamedTuple):
    """The perplexities of both directions."""

    forward: float
    backward: float

    @property
    def mean(self) -> float:
        """exp of the mean loss of both directions: the number that is published."""
        return float(np.sqrt(self.forward * self.backward))

    def __str__(self):
        return (
            f"forward {self.forward:.1f}, backward {self.backward:.1f}, "
            f"mean {self.mean:.1f}"
        )


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
    progress: Callable[[int], object] = lambda n_tokens: None,
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
    for batch in _windows(corpus, vocabulary, bilm.config, n_rows, rows=rows):
        logs, state = _window_sums(bilm, batch, state)
        sums += logs.numpy()
        progress(batch["targets"].shape[1] // 2)
    return sums


def _windows(corpus, vocabulary, config, n_rows, *, rows) -> Iterator[dict[str, Any]]:
    """The windows of these rows, one after another, each to be read in both ways."""
    plan, ids = Plan.in_order(corpus, n_rows), vocabulary.encode(corpus.words)
    tokens = corpus.tokens_of(config)
    n_steps = plan.n_steps(MAX_TOKENS // n_rows)
    time = -(-plan.longest_row // n_steps)  # about the same in all windows
    for step in range(n_steps):
        read = window(corpus, plan, step, unroll_steps=time, rows=rows)
        distinct, words = np.unique(read.inputs, return_inverse=True)
        carried = np.zeros_like(read.from_zero)
        packed = packed_segments(np.concatenate([read.from_zero, carried]))
        real = np.tile(read.real, (2, 1))
        yield {
            "characters": characters_of_words(
                tf.constant([tokens[i] for i in distinct]), config
            ),
            "words": tf.constant(words.reshape(read.inputs.shape), tf.int32),
            # Of the real tokens, from the zero state and then carried over.
            "targets": tf.constant(np.tile(ids[read.targets[:, read.real]], 2)),
            "places": tf.constant(np.argsort(packed["order"])[real.ravel()]),
            **{name: tf.constant(array) for name, array in packed.items()},
        }


def packed_segments(from_zero: np.ndarray) -> dict[str, np.ndarray]:
    """Rows cut where a sentence starts from the zero state, `from_zero` `(rows, time)`.

    A row whose state becomes zero within a window is two rows to the LSTM, one that
    continues from the previous window and a shorter one that starts from zeros. Stored
    step by step (`layers.packing`), the longest segments first, they take as many
    tokens as before, so this costs nothing. Training, whose windows are shorter, has
    `layers.full_rows` for it.

    >>> {k: v.tolist() for k, v in packed_segments(np.eye(1, 3, 1) > 0).items()}
    {'order': [1, 0, 2], 'sizes': [2, 1], 'begin': [1, 0], 'last': [0]}
    """
    n_rows, time = from_zero.shape
    starting = from_zero.copy()
    starting[:, 0] = True
    starts = np.flatnonzero(starting)
    longest_first = np.argsort(-np.diff(starts, append=starting.size), kind="stable")
    rank = np.argsort(longest_first)
    segment = np.cumsum(starting) - 1  # of each token
    step = np.arange(starting.size) - starts[segment]
    begin = np.where(from_zero.ravel()[starts], n_rows, starts // time)
    arrays = {
        "order": np.lexsort((rank[segment], step)),  # of each packed token, its index
        "sizes": np.bincount(step),  # the number of segments with a token at each step
        "begin": begin[longest_first],  # the row it continues; for zeros, `n_rows`
        "last": rank[segment.reshape(from_zero.shape)[:, -1]],  # segment of each row
    }
    return {name: array.astype(np.int32) for name, array in arrays.items()}


@tf.function(reduce_retracing=True, autograph=False)
def _window_sums(bilm, batch, state):
    """Log probabilities for both ways to read, and the state of the rows of both."""
    x = tf.gather(bilm.token_representation(batch["characters"]), batch["words"])
    sums, last = [], []
    for d, direction in enumerate((bilm.lstm.forward, bilm.lstm.backward)):
        # Both streams come in reading order, so neither is reversed here.
        tokens = tf.reshape(tf.tile(x[d], [2, 1, 1]), [-1, x.shape[-1]])
        before = [
            tf.concat([s, tf.zeros_like(s[:1])], 0) for s in tf.nest.flatten(state[d])
        ]
        before = [tf.gather(rows, batch["begin"]) for rows in before]
        outputs, after = direction.call_packed(
            tf.gather(tokens, batch["order"]),
            batch["sizes"],
            tf.nest.pack_sequence_as(state[d], before),
        )
        logs = bilm.softmax.log_probabilities_of(
            tf.gather(outputs[-1], batch["places"]), batch["targets"][d]
        )
        halves = tf.reshape(tf.cast(logs, tf.float64), [2, -1])
        sums.append(tf.reduce_sum(halves, axis=1))
        last.append(tf.nest.map_structure(lambda s: tf.gather(s, batch["last"]), after))
    return tf.stack(sums, axis=1), last
