"""The language model itself: probabilities of words, sentences and substitutes."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from elmo_keras.argument_checks import check_choices, check_counts
from elmo_keras.bilm import BidirectionalLanguageModel, check_process
from elmo_keras.formats.model_directory import find_model
from elmo_keras.layers.flat_sentences import sentence_numbers, with_boundaries
from elmo_keras.text.characters import characters_of_words
from elmo_keras.text.corpus import Corpus
from elmo_keras.text.length_batches import balanced_batches, in_order
from elmo_keras.text.sentences import Sentence, tokens_of_sentences
from elmo_keras.text.vocabulary import Vocabulary
from elmo_keras.text.windows import Plan, window

DIRECTIONS = "both", "forward", "backward"
CHUNK_BATCHES = 8  # how many batches of sentences are sorted by length together

# For a perplexity, rows of text are read twice, side by side: with the LSTM state carried
# over from sentence to sentence, as the published perplexities are measured, and with
# each sentence from the zero state, as `Elmo` reads it.
MAX_ROWS = 32
SENTENCES_A_ROW = 32  # the first of them is read from the zero state in any case
MAX_TOKENS = 2048  # in a window


class SentenceScores(NamedTuple):
    """The log probabilities of a sentence, in nats.

    Each direction predicts every token and one boundary: the forward one `</S>`, the
    backward one `<S>`. Words outside of the vocabulary are predicted as `<UNK>`.

    Attributes:
        tokens: the tokens.
        forward: float32 `(tokens,)`, of each token given those before it.
        backward: float32 `(tokens,)`, of each token given those after it.
        boundaries: float32 `(2,)`, of `</S>` by the forward and of `<S>` by the
            backward direction.
        unknown: bool `(tokens,)`, whether a token is outside of the vocabulary.
    """

    tokens: tuple[str, ...]
    forward: np.ndarray
    backward: np.ndarray
    boundaries: np.ndarray
    unknown: np.ndarray

    @property
    def totals(self) -> np.ndarray:
        """The sentence's log probability by each direction: float64 `(2,)`."""
        sums = [self.forward.sum(dtype=float), self.backward.sum(dtype=float)]
        return np.array(sums) + self.boundaries

    @property
    def perplexity(self) -> float:
        """exp of the mean loss of all predictions of both directions."""
        return float(np.exp(-self.totals.mean() / (len(self.tokens) + 1)))


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


class LanguageModel:
    """A biLM with its softmax and vocabulary, asked for probabilities of words.

    Each sentence is read from the zero state.

    Args:
        bilm: a built biLM with a softmax.
        vocabulary: the words of the softmax.
        tokens_at_once: about how many tokens go through the LSTMs together.

    Raises:
        ValueError: the biLM has no softmax over these words.

    Example:

    >>> from elmo_keras import ElmoConfig
    >>> config = ElmoConfig.preset("test")
    >>> vocabulary = Vocabulary.count([["a", "rose", "is", "a", "rose"]])
    >>> bilm = BidirectionalLanguageModel(config, vocabulary_size=len(vocabulary))
    >>> bilm.build()
    >>> model = LanguageModel(bilm, vocabulary)
    >>> [scores] = model.score(["a rose"])
    >>> scores.forward.shape
    (2,)
    >>> len(model.likeliest(["a", "rose"], position=1, top=2))
    2
    """

    def __init__(
        self,
        bilm: BidirectionalLanguageModel,
        vocabulary: Vocabulary,
        *,
        tokens_at_once: int = 2**12,
    ):
        check_softmax(bilm, vocabulary)
        check_counts(tokens_at_once=tokens_at_once)
        self.bilm, self.vocabulary = bilm, vocabulary
        self._tokens_at_once = tokens_at_once
        words, integers = (tf.TensorSpec((None,), d) for d in (tf.string, tf.int32))
        self._of_targets = tf.function(
            self._log_probabilities_of_targets,
            input_signature=(words, integers, integers),
            autograph=False,
        )
        self._at_position = tf.function(
            self._log_probabilities_at_position,
            input_signature=(words, integers),
            autograph=False,
        )

    @classmethod
    def from_pretrained(cls, model: str | Path) -> "LanguageModel":
        """The language model of a model directory.

        Raises:
            FileNotFoundError: a file is missing; the message names it.
            ValueError: a file doesn't fit, or the model has no softmax.
        """
        files = find_model(model)
        bilm = files.bilm()
        if bilm.softmax is None or files.vocabulary is None:
            raise ValueError(
                f"{model} should have a softmax and its vocabulary, which predict "
                "words. It has vectors only."
            )
        return cls(bilm, files.vocabulary)

    def score(
        self,
        sentences: str | Iterable[Sentence],
        *,
        progress: Callable[[int], None] = lambda n_tokens: None,
    ) -> Iterator[SentenceScores]:
        """Yields the scores of each sentence in turn, within bounded memory.

        Args:
            sentences: as in `Embedder.encode`.
            progress: called with the number of tokens of each finished batch.

        Raises:
            TypeError, ValueError: as in `Embedder.encode`.
        """

        def scores_of(batches):
            for batch in batches:
                yield self._scores(batch)
                progress(sum(map(len, batch)))

        yield from in_order(
            tokens_of_sentences(sentences, self.bilm.config.tokenizer),
            scores_of,
            batches_of=lambda lengths: balanced_batches(
                [length + 2 for length in lengths], self._tokens_at_once
            ),
            tokens_at_once=CHUNK_BATCHES * self._tokens_at_once,
        )

    def perplexity(
        self,
        text: Corpus | str | Iterable[Sentence],
        *,
        progress: Callable[[int], object] = lambda n_tokens: None,
    ) -> HeldOutPerplexity:
        """The perplexities of a text, with the full softmax.

        Every token and one end of each sentence are predicted, words outside of the
        vocabulary as `<UNK>`. The text is read with each sentence from the zero state,
        as `score` reads it, and in at most 32 rows with the state carried over from
        sentence to sentence, as published perplexities are measured.

        Args:
            text: a `Corpus`, which may be larger than memory, or sentences as in
                `Embedder.encode`.
            progress: called with the number of predictions of each finished window.

        Returns:
            `zero` and `carried`, each with `forward`, `backward` and their `mean`.

        Raises:
            ValueError: there is no sentence.
        """
        check_process()
        corpus = text
        if not isinstance(corpus, Corpus):
            tokenizer = self.bilm.config.tokenizer
            corpus = Corpus.from_sentences(corpus, tokenizer=tokenizer)
        if not len(corpus):
            raise ValueError("`text` should hold at least one sentence. It is empty.")
        sums = log_probability_sums(
            self.bilm, corpus, self.vocabulary, progress=progress
        )
        return HeldOutPerplexity.from_sums(sums, corpus.n_predictions)

    def _scores(self, batch):
        check_process()
        words = [[token.decode() for token in sentence] for sentence in batch]
        lengths = np.array([len(sentence) for sentence in words], np.int32)
        ids = self.vocabulary.encode(itertools.chain(*words))
        tokens = tf.constant(list(itertools.chain(*batch)), tf.string)
        forward, backward = self._of_targets(tokens, ids, lengths)
        borders = np.cumsum(lengths + 1)[:-1]
        return [
            SentenceScores(
                tokens=tuple(sentence),
                forward=ahead[:-1],
                backward=back[1:],
                boundaries=np.array([ahead[-1], back[0]]),
                unknown=word_ids == self.vocabulary.unknown,
            )
            for sentence, ahead, back, word_ids in zip(
                words,
                np.split(forward.numpy(), borders),
                np.split(backward.numpy(), borders),
                np.split(ids, np.cumsum(lengths)[:-1]),
            )
        ]

    def _log_probabilities_of_targets(self, tokens, ids, lengths):
        """Forward and backward log probabilities, each `(tokens + sentences,)`."""
        ahead, back = self._last_layer(tokens, lengths)
        boundaries = tf.constant(self.vocabulary.special[:2])
        ids = with_boundaries(ids, lengths, boundaries)
        rows = sentence_numbers(lengths + 2)
        inside = rows[1:] == rows[:-1]  # between two tokens of the same sentence
        return [
            self.bilm.softmax.log_probabilities_of(  # pyright: ignore[reportOptionalMemberAccess]
                tf.boolean_mask(vectors, inside), tf.boolean_mask(targets, inside)
            )
            for vectors, targets in ((ahead[:-1], ids[1:]), (back[1:], ids[:-1]))
        ]

    def _last_layer(self, tokens, lengths):
        """The last layer of both directions, with `<S>` and `</S>`."""
        layers = self.bilm.layers_of_sentences(tokens, lengths, keep_boundaries=True)
        return tf.split(layers[-1], 2, axis=-1)

    def likeliest(
        self, tokens: Sentence, position: int, *, top: int = 10, direction: str = "both"
    ) -> list[tuple[str, float]]:
        """The words that are likeliest at a position, whatever word is there.

        Args:
            tokens: a sentence, a `str` or a list of its tokens.
            position: index of a token.
            top: the number of words.
            direction: `"forward"` reads the tokens before the position, `"backward"`
                those after it; `"both"` multiplies the two probabilities of each word
                and normalises the products.

        Returns:
            Words with their log probabilities in nats, the likeliest first. `<S>`,
            `</S>` and `<UNK>` are left out.

        Raises:
            TypeError, ValueError: there is no such sentence, position or direction.
        """
        [sentence] = tokens_of_sentences([tokens], self.bilm.config.tokenizer)
        logs = self._logs(sentence, position, direction)
        return self._best(logs, top, leave_out=self.vocabulary.special)

    def substitutes(
        self, tokens: Sentence, position: int, *, top: int = 10
    ) -> list[tuple[str, float]]:
        """The likeliest words in place of a token, by both directions.

        Args:
            tokens, position, top: as in `likeliest`.

        Returns:
            As `likeliest`, without the token itself, in upper or lower case.
        """
        [sentence] = tokens_of_sentences([tokens], self.bilm.config.tokenizer)
        logs = self._logs(sentence, position, "both")
        word = sentence[position].decode()
        same = self.vocabulary.encode({word, word.lower(), word.title(), word.upper()})
        return self._best(logs, top, leave_out=[*self.vocabulary.special, *same])

    def _logs(self, tokens, position, direction):
        """Log probabilities of all words at a position: float32 `(words,)`."""
        check_choices(DIRECTIONS, direction=direction)
        if position not in range(len(tokens)):
            raise ValueError(
                f"`position` should be from 0 to {len(tokens) - 1}, the index of one of "
                f"{len(tokens)} tokens. Received: {position}"
            )
        logs = self._at_position(
            tf.constant(tokens, tf.string), tf.constant([position])
        ).numpy()
        return logs[DIRECTIONS.index(direction)]

    def _log_probabilities_at_position(self, tokens, position):
        """By both directions together, by the forward and the backward one."""
        ahead, back = self._last_layer(tokens, tf.size(tokens)[None])
        # `<S>` is before the first token: the one before the position has its index.
        vectors = tf.gather(ahead, position), tf.gather(back, position + 2)
        logs = tf.nn.log_softmax(self.bilm.softmax(tf.concat(vectors, axis=0)))  # pyright: ignore[reportOptionalCall]
        both = tf.nn.log_softmax(tf.reduce_sum(logs, axis=0, keepdims=True))
        return tf.concat([both, logs], axis=0)

    def _best(self, logs, top, leave_out):
        check_counts(top=top)
        logs[np.asarray(leave_out)] = -np.inf
        top = min(top, int(np.isfinite(logs).sum()))
        best = np.argsort(-logs, kind="stable")[:top]
        return [(self.vocabulary.words[i], float(logs[i])) for i in best]


def check_softmax(bilm: BidirectionalLanguageModel, vocabulary: Vocabulary) -> None:
    """Raises an error if a model can't predict the words of a vocabulary."""
    if bilm.vocabulary_size != len(vocabulary):
        raise ValueError(
            f"`bilm` should have a softmax over the {len(vocabulary)} words of the "
            f"vocabulary. Its vocabulary_size: {bilm.vocabulary_size}"
        )


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
