"""Predictions of a language model, by whatever computes its probabilities."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from elmo_keras.base.argument_checks import check_choices, check_counts
from elmo_keras.base.progress import Progress
from elmo_keras.text.length_batches import balanced_batches, stream_batches
from elmo_keras.text.sentences import Sentence, tokens_of_sentences
from elmo_keras.text.vocabulary import Vocabulary

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


class Predictions:
    """Scores of sentences and likely words; subclasses compute log probabilities."""

    def __init__(
        self, vocabulary: Vocabulary, tokenizer: str, *, tokens_at_once: int = 2**12
    ):
        check_counts(tokens_at_once=tokens_at_once)
        self.vocabulary, self.tokenizer = vocabulary, tokenizer
        self._tokens_at_once = tokens_at_once

    def of_targets(
        self, tokens: Sequence[bytes], ids: np.ndarray, lengths: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Forward and backward log probabilities, each `(tokens + sentences,)`.

        Takes flat sentences of these lengths, and the ids of their tokens.
        """
        raise NotImplementedError

    def at_position(self, tokens: Sequence[bytes], position: int) -> np.ndarray:
        """Log probabilities of all words by the two directions: `(2, words)`."""
        raise NotImplementedError

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
        ids = self.vocabulary.encode(itertools.chain(*words))
        tokens = list(itertools.chain(*batch))
        forward, backward = self.of_targets(tokens, ids, lengths)
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
                np.split(forward, borders),
                np.split(backward, borders),
                np.split(ids, np.cumsum(lengths)[:-1]),
            )
        ]

    def likeliest(
        self, tokens: Sentence, position: int, *, top: int = 10, direction: str = "both"
    ) -> list[tuple[str, float]]:
        """The words that are likeliest at a position, whatever word is there.

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
            tokens, position, top: as in `likeliest`, whose result this is, without the
                token itself, in upper or lower case.
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
        logs = self.at_position(tokens, position)
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
