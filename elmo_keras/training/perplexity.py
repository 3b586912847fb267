"""The perplexity of a language model on held-out text, with the full softmax."""

from typing import NamedTuple

import keras
import numpy as np

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.language_model import LanguageModel
from elmo_keras.text.corpus import Corpus
from elmo_keras.text.vocabulary import Vocabulary


class Perplexity(NamedTuple):
    """The perplexities of both directions.

    `mean`, the exp of their mean loss, is the number published for the released
    models.
    """

    forward: float
    backward: float

    @classmethod
    def of(cls, sums: np.ndarray, n_predictions: int) -> "Perplexity":
        """The perplexities for log probabilities `(2,)` summed over predictions."""
        forward, backward = np.exp(-np.asarray(sums) / n_predictions)
        return cls(float(forward), float(backward))

    @property
    def mean(self) -> float:
        """exp of the mean loss of both directions, their geometric mean."""
        return float(np.sqrt(self.forward * self.backward))

    def __str__(self):
        return (
            f"forward {self.forward:.1f}, backward {self.backward:.1f}, "
            f"mean {self.mean:.1f}"
        )


def perplexity(
    bilm: BidirectionalLanguageModel,
    corpus: Corpus,
    vocabulary: Vocabulary,
    *,
    verbose: int = 0,
) -> Perplexity:
    """Full-softmax perplexities of a corpus, each sentence on its own.

    Every token and one end of each sentence are predicted, words outside the
    vocabulary as `<UNK>`. Sentences are read from the model's start state, which is
    zero by default.

    Args:
        bilm: a biLM with a softmax.
        corpus: held-out sentences.
        vocabulary: the words of the softmax.
        verbose: 1 for a progress bar.

    Raises:
        ValueError: the corpus is empty.
    """
    if not len(corpus):
        raise ValueError("`corpus` should hold at least one sentence. It is empty.")
    sums = log_probabilities(bilm, corpus, vocabulary, verbose=verbose)
    return Perplexity.of(sums.sum(axis=0), corpus.n_predictions)


def log_probabilities(
    bilm: BidirectionalLanguageModel,
    corpus: Corpus,
    vocabulary: Vocabulary,
    *,
    verbose: int = 0,
) -> np.ndarray:
    """Log probability of each sentence, in nats.

    Args:
        bilm, corpus, vocabulary, verbose: as in `perplexity`.

    Returns:
        float64 `(sentences, 2)`: forward and backward.

    Raises:
        ValueError: the model has no softmax, or one of another size.
    """
    model = LanguageModel(bilm, vocabulary)
    progress = keras.utils.Progbar(len(corpus), verbose=verbose, unit_name="sentence")
    result = np.zeros((len(corpus), 2))
    for row, scores in zip(result, model.score(corpus.sentences())):
        row[...] = scores.totals
        progress.add(1)
    return result
