"""The language model itself: probabilities of words, sentences and substitutes."""

import functools
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from elmo_keras.base.argument_checks import check_choices, check_counts
from elmo_keras.base.progress import Progress
from elmo_keras.embed.engines.backend import LITERT, Backend, choose_backend
from elmo_keras.embed.engines.litert import read_litert
from elmo_keras.formats.model_directory import find_model
from elmo_keras.lite.bilm import LiteBilm, log_sums
from elmo_keras.text.corpus import Corpus
from elmo_keras.text.length_batches import balanced_batches, stream_batches
from elmo_keras.text.sentences import Sentence, tokens_of_sentences
from elmo_keras.text.vocabulary import Vocabulary, check_softmax

if TYPE_CHECKING:
    from elmo_keras.bilm import BidirectionalLanguageModel
    from elmo_keras.perplexity import HeldOutPerplexity

DIRECTIONS = "both", "forward", "backward"


class SentenceScores(NamedTuple):
    """The log probabilities of a sentence, in nats.

    Words outside of the vocabulary are predicted as `<UNK>`.
    """

    tokens: tuple[str, ...]
    forward: np.ndarray  # float32 (tokens,), of each token given those before it
    backward: np.ndarray  # float32 (tokens,), of each token given those after it
    boundaries: np.ndarray  # float32 (2,), forward of `</S>`, backward of `<S>`
    unknown: np.ndarray  # bool (tokens,), whether a token is outside of the vocabulary

    @property
    def totals(self) -> np.ndarray:
        """The sentence's log probability by each direction: float64 `(2,)`."""
        sums = [self.forward.sum(dtype=float), self.backward.sum(dtype=float)]
        return np.array(sums) + self.boundaries

    @property
    def perplexity(self) -> float:
        """exp of the mean loss of all predictions of both directions."""
        return float(np.exp(-self.totals.mean() / (len(self.tokens) + 1)))


class LanguageModel:
    """A biLM with its softmax and vocabulary, asked for probabilities of words.

    Each sentence is read from the zero state.

    Args:
        bilm: a built biLM with a softmax, such as a `BidirectionalLanguageModel`.
        vocabulary: the words of the softmax.
        tokens_at_once: about how many tokens go through the LSTMs together.

    Raises:
        ValueError: the biLM has no softmax over these words.

    Example:

    >>> from elmo_keras import BidirectionalLanguageModel, ElmoConfig
    >>> config = ElmoConfig(7, 5, [(1, 2), (2, 3)])
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
        bilm: "BidirectionalLanguageModel | LiteBilm",
        vocabulary: Vocabulary,
        *,
        tokens_at_once: int = 2**11,
    ):
        check_counts(tokens_at_once=tokens_at_once)
        check_softmax(bilm.vocabulary_size, vocabulary)
        self._bilm, self._softmax = bilm, cast(Any, bilm.softmax)
        self.vocabulary, self.tokenizer = vocabulary, bilm.config.tokenizer
        self._tokens_at_once = tokens_at_once

    @classmethod
    def from_pretrained(
        cls, model: str | Path, *, backend: Backend | None = None
    ) -> "LanguageModel":
        """The language model of a model directory, a name or an address.

        Args:
            backend: what computes scores, `"litert"` or `"tensorflow"`; by default as
                for an `Embedder`, so that most machines need no TensorFlow.

        Raises:
            FileNotFoundError: a file is missing; the message names it.
            ValueError: a file doesn't fit, or the model has no softmax.
        """
        files = find_model(model)
        vocabulary = files.predicted_words(model)
        if choose_backend(model, backend=backend) != LITERT:
            return cls(files.bilm(), vocabulary)
        lite = read_litert(model, None, "float32", None)
        return cls(LiteBilm(lite, files, vocabulary), vocabulary)

    @functools.cached_property
    def bilm(self) -> "BidirectionalLanguageModel":
        """The biLM as a Keras layer; TensorFlow reads it at its first use."""
        bilm = self._bilm
        return bilm.files.bilm() if isinstance(bilm, LiteBilm) else bilm

    def perplexity(
        self,
        text: Corpus | str | Iterable[Sentence],
        *,
        progress: bool = False,
    ) -> "HeldOutPerplexity":
        """The perplexities of a text, with the full softmax, by TensorFlow.

        Every token and one end of each sentence are predicted, words outside of the
        vocabulary as `<UNK>`.

        Args:
            text: a `Corpus`, which may be larger than memory, or sentences as in
                `Embedder.encode`; at least one.
            progress: whether to show predictions, rate and time left.

        Returns:
            `zero`, with each sentence read from the zero state, and `carried`, with the
            state carried over from sentence to sentence in at most 32 rows, as published
            perplexities are measured: each `forward`, `backward` and their `mean`.
        """
        from elmo_keras.bilm import check_process
        from elmo_keras.perplexity import HeldOutPerplexity, log_probability_sums

        check_process()
        if not isinstance(text, Corpus):
            text = Corpus.from_sentences(text, tokenizer=self.tokenizer)
        if not len(text):
            raise ValueError("`text` should hold at least one sentence. It is empty.")
        sums = log_probability_sums(self.bilm, text, self.vocabulary, progress=progress)
        return HeldOutPerplexity.from_sums(sums, text.n_predictions)

    def score(
        self,
        sentences: str | Iterable[Sentence],
        *,
        progress: bool = False,
    ) -> Iterator[SentenceScores]:
        """Yields the scores of each sentence in turn, within bounded memory.

        Args:
            sentences: as in `Embedder.encode`, which has the same errors.
            progress: whether to show tokens and rate.
        """
        size = self._tokens_at_once

        def scores_of(batches):
            for batch in batches:
                yield self._scores(batch)
                bar.add(sum(map(len, batch)))

        with Progress(disable=not progress) as bar:
            yield from stream_batches(
                scores_of,
                tokens_of_sentences(sentences, self.tokenizer),
                lambda lengths: balanced_batches([n + 2 for n in lengths], size),
                batch_tokens=size,
            )

    def _scores(self, batch):
        words = [[token.decode() for token in sentence] for sentence in batch]
        lengths = np.array([len(sentence) for sentence in words], np.int32)
        word_ids = self.vocabulary.encode(itertools.chain(*words))
        word_ids = np.split(word_ids, np.cumsum(lengths)[:-1])
        begin, end = self.vocabulary.special[:2]
        ids = np.concatenate([[begin, *row, end] for row in word_ids])
        rows = np.repeat(np.arange(len(lengths)), lengths + 2)
        inside = rows[1:] == rows[:-1]  # between two tokens of the same sentence
        ahead, back = self._bilm.top_layer([*itertools.chain(*batch)], lengths)
        forward, backward = (
            np.asarray(
                self._softmax.log_probabilities_of(vectors[inside], targets[inside])
            )
            for vectors, targets in ((ahead[:-1], ids[1:]), (back[1:], ids[:-1]))
        )
        borders = np.cumsum(lengths + 1)[:-1]
        return [
            SentenceScores(
                tokens=tuple(sentence),
                forward=ahead[:-1],
                backward=back[1:],
                boundaries=np.array([ahead[-1], back[0]]),
                unknown=row == self.vocabulary.unknown,
            )
            for sentence, ahead, back, row in zip(
                words, np.split(forward, borders), np.split(backward, borders), word_ids
            )
        ]

    def likeliest(
        self, tokens: Sentence, position: int, *, top: int = 10, direction: str = "both"
    ) -> list[tuple[str, float]]:
        """The likeliest words at a position; the word that is there has no influence.

        Args:
            tokens: a sentence, a `str` or a list of its tokens.
            position: index of a token.
            top: the number of words.
            direction: `"forward"` reads the tokens before the position, `"backward"`
                those after it; `"both"` multiplies the two probabilities of each word,
                divides by its frequency, which both contain, and normalises.

        Returns:
            Words with their log probabilities in nats, the likeliest first. `<S>`,
            `</S>` and `<UNK>` are left out.

        Raises:
            TypeError, ValueError: there is no such sentence, position or direction.
        """
        _, logs = self._logs(tokens, position, direction)
        return self._best(logs, top)

    def substitutes(
        self, tokens: Sentence, position: int, *, top: int = 10
    ) -> list[tuple[str, float]]:
        """The likeliest words in place of a token, by both directions.

        Args:
            tokens, position, top: as in `likeliest`. The result is the same, without
                the token itself in any case.
        """
        word, logs = self._logs(tokens, position, "both")
        same = {word, word.lower(), word.title(), word.upper()}
        logs[self.vocabulary.encode(same)] = -np.inf
        return self._best(logs, top)

    def _logs(self, tokens, position, direction):
        """The word at a position; log probabilities of all words there: `(words,)`.

        If the tokens before a word w and those after it depend on each other only through
        w, then p(w | before, after) ∝ p(w | before) p(w | after) / p(w).
        """
        check_choices(DIRECTIONS, direction=direction)
        [tokens] = tokens_of_sentences([tokens], self.tokenizer)
        check_counts(0, len(tokens) - 1, position=position)
        ahead, back = self._bilm.top_layer(tokens, np.array([len(tokens)], np.int32))
        # `<S>` is before the first token: the one before the position has its index.
        vectors = np.stack([ahead[position], back[position + 2]])
        logits = np.asarray(self._softmax(vectors))
        logs = logits - log_sums(logits)[:, None]
        if direction != "both":
            logs = logs[DIRECTIONS.index(direction) - 1]
        else:
            logs = logs.sum(axis=0) - self.vocabulary.log_frequencies
        logs[[*self.vocabulary.special]] = -np.inf
        if direction == "both":
            logs -= np.logaddexp.reduce(logs)
        return tokens[position].decode(), logs

    def _best(self, logs, top):
        check_counts(top=top)
        top = min(top, int(np.isfinite(logs).sum()))
        best = np.argsort(-logs, kind="stable")[:top]
        return [(self.vocabulary.words[i], float(logs[i])) for i in best]
