"""The batches a language model is trained on: streams of text in rows.

Every batch is a function of the corpus, the seed, the epoch and the step, so
training can resume at any step as if it had never stopped.
"""

import functools
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from elmo_keras.config import ElmoConfig
from elmo_keras.text.characters import characters_of_words, cut_pieces
from elmo_keras.text.corpus import Corpus
from elmo_keras.text.vocabulary import Vocabulary
from elmo_keras.text.windows import Plan, window

PREFETCHED = 4
SAMPLED = 16  # steps of an epoch; their batches decide the fixed shapes
ZERO_STATE = "share of the sentences read from the zero state"  # key of the metadata
ONE_REPLICA = tf.distribute.InputContext()
# Batches have few shapes, each of which XLA compiles once.
N_PIECES = 8  # pieces of a part's distinct words, from the longest on
GROWTH = 1.25  # the next size, for a batch that doesn't fit
SPARE = 1.03  # the first size, in largest batches of the sample


class Streams:
    """The batches of a corpus, each of whose tokens occurs once in an epoch.

    Args:
        corpus: the training text.
        vocabulary: the words of the softmax.
        config: the configuration of the biLM, for the characters of words.
        n_rows: rows of text in a batch, over all replicas and parts.
        unroll_steps: tokens of each row in a batch.
        n_negatives: negatives of the sampled softmax; None for the full softmax.
        seed: decides the order of the sentences, the negatives and the dropout.
        zero_state_share: the probability that a sentence is read from the zero state;
            with 0 the state is always carried over.
    """

    def __init__(
        self,
        corpus: Corpus,
        vocabulary: Vocabulary,
        config: ElmoConfig,
        *,
        n_rows: int,
        unroll_steps: int = 20,
        n_negatives: int | None = None,
        seed: int = 0,
        zero_state_share: float = 0.0,
    ):
        self.corpus, self.config, self.seed = corpus, config, seed
        self.n_rows, self.unroll_steps = n_rows, unroll_steps
        self.n_negatives, self.zero_state_share = n_negatives, zero_state_share
        self.vocabulary, self.vocabulary_size = vocabulary, len(vocabulary)
        self.ids = vocabulary.encode(corpus.words)
        self.plan = functools.lru_cache(maxsize=1)(self._plan)
        self.fixed_shapes = functools.cache(self._fixed_shapes)

    def _plan(self, epoch):
        return Plan.in_random_order(
            self.corpus,
            self.n_rows,
            seed=self.seed,
            epoch=epoch,
            zero_state_share=self.zero_state_share,
        )

    def n_steps(self, epoch: int) -> int:
        """The number of batches of an epoch."""
        return self.plan(epoch).n_steps(self.unroll_steps)

    def metadata(self) -> dict[str, Any]:
        """Everything that the batches depend on, as JSON values."""
        return {
            "rows of text in all": self.n_rows,
            "unroll_steps": self.unroll_steps,
            "negatives": self.n_negatives,
            "seed": self.seed,
            ZERO_STATE: self.zero_state_share,
            "model": self.config.to_summary(),
            "vocabulary": self.vocabulary.digest,
            "training text": self.corpus.digest,
        }

    def batches(
        self,
        epoch: int,
        first_step: int = 0,
        *,
        n_parts: int = 1,
        context: tf.distribute.InputContext = ONE_REPLICA,
        fixed_shapes: bool = False,
    ) -> tf.data.Dataset:
        """The batches of an epoch, from a step on, for the replicas of one process.

        The rows are divided among all replicas, and the rows of a replica into parts.
        A row continues where it ended in the previous batch, so the LSTM state must be
        carried over.

        A dataset with one element for each step and replica: a tuple of one dict for
        each part, with `characters` `(words, characters)`, the distinct words of the
        part, and the arrays of `_spec`. With `fixed_shapes` there are a few sizes of
        them, for XLA, and `characters` is a tuple of pieces of `cut_pieces`.
        """
        n_replicas = context.num_replicas_in_sync // context.num_input_pipelines
        n_rows = self.n_rows // (context.num_replicas_in_sync * n_parts)
        first = context.input_pipeline_id * n_replicas * n_parts
        indices = range(first, first + n_replicas * n_parts)
        spec = self._spec(n_rows)
        shapes = self.fixed_shapes(n_rows) if fixed_shapes else None
        strings = tf.constant(self.corpus.tokens_of(self.config))

        def arrays(step):
            parts = self._arrays(epoch, step, indices, n_rows, shapes)
            return [part[name] for part in parts for name in spec]

        def elements(step):
            dtypes = len(indices) * [s.dtype for s in spec.values()]
            tensors, parts = iter(tf.numpy_function(arrays, [step], dtypes)), []
            for _ in indices:
                part = {
                    k: tf.ensure_shape(next(tensors), s.shape) for k, s in spec.items()
                }
                words = tf.gather(strings, part.pop("distinct"))
                characters = characters_of_words(words, self.config)
                if shapes is not None:
                    characters = cut_pieces(
                        characters, shapes.windows_of_pieces, self.config
                    )
                parts.append({"characters": characters} | part)
            return tuple(zip(*n_parts * [iter(parts)]))

        def one_after_another(*parts):
            datasets = map(tf.data.Dataset.from_tensors, parts)
            return functools.reduce(tf.data.Dataset.concatenate, datasets)

        # Autotuning finds nothing to tune, and delays an iterator's end by seconds.
        untuned = tf.data.Options()
        untuned.autotune.enabled = False
        dataset = tf.data.Dataset.range(first_step, self.n_steps(epoch)).map(elements)
        dataset = dataset.flat_map(one_after_another)
        return dataset.prefetch(PREFETCHED * n_replicas).with_options(untuned)

    def _spec(self, n_rows) -> dict[str, tf.TensorSpec]:
        time = self.unroll_steps
        spec = {
            "distinct": tf.TensorSpec((None,), tf.int64),
            # Indices of distinct words, forward and backward, both in reading order.
            "words": tf.TensorSpec((2, n_rows, time), tf.int32),
            "targets": tf.TensorSpec((2, n_rows, time), tf.int32),  # ids to predict
            "weights": tf.TensorSpec((n_rows, time), tf.float32),  # 0.0 after a row
            "n_predictions": tf.TensorSpec((), tf.float32),  # over all replicas
            "seed": tf.TensorSpec((2,), tf.int32),  # decides the dropout
        }
        if self.zero_state_share:  # where a sentence starts from it
            spec["from_zero"] = tf.TensorSpec((n_rows, time), tf.bool)
        if self.n_negatives is not None:
            spec |= {
                # The ids whose rows of the softmax all parts need; `negatives` and
                # `targets` are indices of these.
                "candidates": tf.TensorSpec((None,), tf.int32),
                "negatives": tf.TensorSpec((2, self.n_negatives), tf.int32),
                "log_expected": tf.TensorSpec((2, None), tf.float32),
            }
        return spec

    def _fixed_shapes(self, n_rows):
        """The shapes of parts of `n_rows`, the same whichever epoch is read first."""
        sample = []
        for step in np.linspace(0, self.n_steps(0) - 1, SAMPLED).astype(int):
            part = next(self._arrays(0, step, range(1), n_rows))
            windows = self._windows[part["distinct"]]
            sample.append((windows, len(part.get("candidates", ()))))
        return FixedShapes.from_sample(sample, self.config.max_characters_per_token)

    @functools.cached_property
    def _windows(self):
        """Windows of characters of each word of the corpus: its ends, and one of padding."""
        words = self.corpus.tokens_of(self.config)
        if form := self.config.unicode_normalization:
            words = [unicodedata.normalize(form, word) for word in words]  # pyright: ignore[reportArgumentType]
        lengths = np.array([len(word.encode()) for word in words]) + 3
        return np.minimum(lengths, self.config.max_characters_per_token)

    def _arrays(
        self, epoch, step, indices, n_rows, shapes=None
    ) -> Iterator[dict[str, Any]]:
        """The arrays of each of the parts, those of `_spec` and perhaps more."""
        # Not `step`, since (seed, epoch, 0) gives the same numbers as the plan's seed.
        rng = np.random.default_rng((self.seed, epoch, int(step) + 1))
        plan, time = self.plan(epoch), self.unroll_steps
        whole = window(self.corpus, plan, step, unroll_steps=time)
        targets, seed = self.ids[whole.targets], int(rng.integers(2**31))
        shared = {"n_predictions": np.float32(whole.real.sum())}
        if self.n_negatives is not None:
            size = self.vocabulary_size
            drawn = [draw_negatives(rng, self.n_negatives, size) for _ in range(2)]
            ids = [negatives.ids for negatives in drawn]
            candidates = np.unique(np.concatenate([targets.ravel(), *ids]))
            targets, filled = np.searchsorted(candidates, targets), candidates
            if shapes is not None:
                filled = shapes.fill(candidates, size)
            expected = [negatives.log_expected_counts(filled) for negatives in drawn]
            shared |= {
                "candidates": filled.astype(np.int32),
                "negatives": np.searchsorted(candidates, ids).astype(np.int32),
                "log_expected": np.stack(expected),
            }
        for index in indices:
            rows = slice(index * n_rows, (index + 1) * n_rows)
            inputs = whole.inputs[:, rows]
            distinct, words = np.unique(inputs, return_inverse=True)
            if shapes is not None:
                in_slots, slots = shapes.arrange(self._windows[distinct])
                distinct, words = distinct[in_slots], slots[words]
            yield shared | {
                "distinct": distinct.astype(np.int64),
                "words": words.reshape(inputs.shape).astype(np.int32),
                "targets": np.ascontiguousarray(targets[:, rows], np.int32),
                "weights": whole.real[rows].astype(np.float32),
                "seed": np.array([seed, index], np.int32),
                "from_zero": whole.from_zero[rows],
            }


class Negatives(NamedTuple):
    """Distinct word ids, and the number of draws that it took to get them."""

    ids: np.ndarray  # int64 (negatives,)
    n_draws: int  # including repeated ids
    vocabulary_size: int

    def log_expected_counts(self, ids: np.ndarray) -> np.ndarray:
        """The log of the probability that an id is drawn at least once, float32.

        Logits are corrected by it, so that the sampled softmax estimates the full one.
        """
        size = self.vocabulary_size
        probability = np.log1p(1 / (ids + 1.0)) / np.log1p(size)
        expected = -np.expm1(self.n_draws * np.log1p(-probability))
        return np.log(expected).astype(np.float32)


def draw_negatives(
    rng: np.random.Generator, n_negatives: int, vocabulary_size: int
) -> Negatives:
    """Draws distinct ids, P(id) = log((id + 2) / (id + 1)) / log(size + 1).

    Word ids must be sorted by falling frequency, and be more than the negatives. The
    distribution is that of TensorFlow's `log_uniform_candidate_sampler` with
    `unique=True`, but a resumed run draws the same ids as an uninterrupted one.
    """
    draws = np.zeros(0, np.int64)
    while True:
        more = np.expm1(rng.random(2 * n_negatives) * np.log1p(vocabulary_size))
        more = np.minimum(more.astype(np.int64), vocabulary_size - 1)
        draws = np.concatenate([draws, more])
        _, first = np.unique(draws, return_index=True)
        if len(first) >= n_negatives:
            first = np.sort(first)[:n_negatives]
            n_draws = int(first[-1]) + 1
            return Negatives(draws[first], n_draws, vocabulary_size)


class FixedShapes(NamedTuple):
    """The sizes of batches, which follow from a sample of them."""

    words: int  # the smallest number in a piece
    windows_of_pieces: tuple[int, ...]  # the most windows of characters in each piece
    candidates: int  # the smallest number of candidates of the sampled softmax

    @classmethod
    def from_sample(
        cls, sample: Iterable[tuple[np.ndarray, int]], max_windows: int
    ) -> "FixedShapes":
        """Sizes with room for most batches, from windows and candidates of some."""
        windows, candidates = zip(*sample)
        n_words = max(map(len, windows))
        size = int(np.ceil(n_words * SPARE / N_PIECES))
        windows_of_pieces = np.ones((len(windows), N_PIECES), np.int64)
        for row, n_windows in zip(windows_of_pieces, windows):
            longest = np.sort(n_windows)[::-1][::size]
            row[: len(longest)] = longest
        most = np.minimum(windows_of_pieces.max(axis=0) + 1, max_windows).tolist()
        # A piece of the longest words of any text: some size has room for every batch.
        most[0] = max_windows
        return cls(size, tuple(most), int(np.ceil(max(candidates) * SPARE)))

    def arrange(self, windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The index of the word in each slot, and the slot of each word, by its windows.

        The slots after the last word hold the shortest one again.
        """
        order, size = np.argsort(-windows, kind="stable"), self.words
        while (
            len(longest := windows[order[::size]]) > N_PIECES
            or (longest > self.windows_of_pieces[: len(longest)]).any()
        ):
            size = int(np.ceil(GROWTH * size))
        slots = np.empty(len(order), np.int64)
        slots[order] = np.arange(len(order))
        words = np.full(N_PIECES * size, order[-1])
        words[: len(order)] = order
        return words, slots

    def fill(self, candidates: np.ndarray, vocabulary_size: int) -> np.ndarray:
        """The candidates, then other words, which no token has, up to a fixed number."""
        size = self.candidates
        while size < len(candidates):
            size = int(np.ceil(GROWTH * size))
        is_free = np.ones(vocabulary_size, bool)
        is_free[candidates] = False
        # Distinct, as the rows of one word would be updated twice.
        padding = np.flatnonzero(is_free)[: size - len(candidates)]
        return np.concatenate([candidates, padding])
