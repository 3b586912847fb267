"""The held-out text of training."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.formats.model_directory import save_model
from elmo_keras.perplexity import HeldOutPerplexity, log_probability_sums
from elmo_keras.text.corpus import Corpus
from elmo_keras.text.vocabulary import Vocabulary
from elmo_keras.training.distribution import n_workers, sum_over_workers, worker
from elmo_keras.training.progress import diverged


@dataclasses.dataclass(frozen=True)
class Validation:
    """A held-out text, which `fit` evaluates with the full softmax, first and after each epoch.

    Callbacks find in the logs of an epoch `val_loss`, the mean loss with each sentence
    read from the zero state, and `val_perplexity`.

    Args:
        corpus: the held-out text.
        vocabulary: the words of the softmax.
        every: steps after which it is evaluated, too.
        directory: where the model with the lowest perplexity is written; the one before
            training counts, too.
        keep_last: whether the last evaluated model is written instead.
        options: further keys of its `options.json`.
    """

    corpus: Corpus
    vocabulary: Vocabulary
    _: dataclasses.KW_ONLY
    every: int | None = None
    directory: str | Path | None = None
    keep_last: bool = False
    options: dict[str, Any] | None = None

    def perplexity(
        self, bilm: BidirectionalLanguageModel, strategy: tf.distribute.Strategy
    ) -> HeldOutPerplexity:
        """The perplexity of the held-out text; workers share its rows."""
        sums = log_probability_sums(
            bilm,
            self.corpus,
            self.vocabulary,
            worker=worker(strategy),
            n_workers=n_workers(strategy),
        )
        result = HeldOutPerplexity.from_sums(
            sum_over_workers(strategy, sums), self.corpus.n_predictions
        )
        if not np.isfinite(result).all():
            raise diverged(np.log(result.zero.mean))
        return result

    def write_model(self, bilm: BidirectionalLanguageModel) -> None:
        if self.directory is not None:
            save_model(self.directory, bilm, self.vocabulary, options=self.options)
