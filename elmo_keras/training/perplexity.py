"""The perplexity of a language model on held-out text, with the full softmax."""

from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.text.corpus import Corpus, sentence_batches
from elmo_keras.text.vocabulary import Vocabulary

MAX_TOKENS = 4096  # in a batch, padding included


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
    vocabulary as `<UNK>`.

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
        float64 `(sentences, 2)`: forward and backward, each from a zero state.

    Raises:
        ValueError: the model has no softmax, or one of another size.
    """
    check_softmax(bilm, vocabulary)
    batches = sentence_batches(corpus, vocabulary, bilm.config, max_tokens=MAX_TOKENS)
    result = np.zeros((len(corpus), 2))
    progress = keras.utils.Progbar(len(corpus), verbose=verbose, unit_name="sentence")
    for batch in batches:
        sentences = batch.pop("sentences").numpy()
        result[sentences] = _of_sentences(bilm, **batch).numpy()
        progress.add(len(sentences))
    return result


def check_softmax(bilm: BidirectionalLanguageModel, vocabulary: Vocabulary) -> None:
    """Checks that a model can predict the words of a vocabulary.

    Raises:
        ValueError: the model has no softmax, or one of another size.
    """
    if bilm.vocabulary_size != len(vocabulary):
        raise ValueError(
            f"`bilm` should have a softmax over the {len(vocabulary)} words of the "
            f"vocabulary. Its vocabulary_size: {bilm.vocabulary_size}"
        )


@tf.function(reduce_retracing=True, autograph=False)
def _of_sentences(bilm, characters, *, mask, ids):
    """Log probability of each sentence: (batch, 2)."""
    last = bilm(characters, mask=mask)[-1]
    ahead, back = tf.split(last, 2, axis=-1)
    real = mask[:, 1:]
    # Each token is predicted from those before it, and from those after it.
    forward = _summed(bilm, real, vectors=ahead[:, :-1], targets=ids[:, 1:])
    backward = _summed(bilm, real, vectors=back[:, 1:], targets=ids[:, :-1])
    return tf.stack([forward, backward], axis=1)


def _summed(bilm, real, *, vectors, targets):
    """Log probability of each sentence in one direction: (batch,)."""
    logs = bilm.softmax.log_probabilities_of(
        tf.boolean_mask(vectors, real), tf.boolean_mask(targets, real)
    )
    rows = tf.cast(tf.where(real)[:, 0], tf.int32)
    return tf.math.unsorted_segment_sum(logs, rows, tf.shape(real)[0])
