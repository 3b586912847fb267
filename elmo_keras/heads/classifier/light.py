"""The classifier without TensorFlow."""

import dataclasses

import numpy as np

from elmo_keras.base.argument_checks import check_labels, check_numbers, from_json
from elmo_keras.heads.classifier.ngrams import ngram_scores
from elmo_keras.heads.head import Head, NetworkArguments
from elmo_keras.heads.light import LightEncoder, read_bilstm, read_dense, softmax
from elmo_keras.heads.token_batch import TokenBatch


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassifierArguments(NetworkArguments):
    labels: list[str]
    multi_label: bool
    threshold: float
    ngram_rows: int


class LightClassifier:
    """A `TextClassifier` of a head."""

    def __init__(self, head: Head):
        arguments = from_json(ClassifierArguments, head.card.model)
        self.labels, self.threshold = arguments.labels, arguments.threshold
        self.multi_label, n = arguments.multi_label, len(arguments.labels)
        check_labels(labels=self.labels)
        check_numbers(0, 1, threshold=self.threshold)
        units, rows = arguments.units, arguments.ngram_rows
        self._encoder = LightEncoder(head, units)
        dim = 3 * self._encoder.dim
        self._integrator = read_bilstm(head, "integrator", dim, units)
        self._attention = read_dense(head, "attention", 2 * units, 1)
        self._maxout = read_dense(head, "maxout", 8 * units, 4 * units)
        self._decision = read_dense(head, "decision", units, n)
        self._units = units
        self._ngrams = head.weight("ngrams/kernel", rows, n) if rows else None

    def scores(self, batch: TokenBatch) -> np.ndarray:
        """A probability for each label, `(texts, labels)`."""
        x = self._encoder(batch)
        c = np.concatenate([soft_alignment(x[part]) for part in batch.parts])
        x = np.concatenate([x, x - c, x * c], axis=1)
        x = self._integrator(x, batch.lengths)
        weights = self._attention(x)
        pooled = np.array([_pool(x[part], weights[part]) for part in batch.parts])
        pieces = self._maxout(pooled).reshape(len(pooled), -1, self._units)
        logits = self._decision(pieces.max(axis=1))
        if self._ngrams is not None:
            logits += ngram_scores(self._ngrams, batch.sentences)
        return 1 / (1 + np.exp(-logits)) if self.multi_label else softmax(logits)


def _pool(x, scores):
    """The maximum, minimum and mean over a text's tokens, and the mean by attention."""
    if not len(x):
        return np.zeros(4 * x.shape[1], np.float32)
    weights = softmax(scores[:, 0])[:, None]
    rows = x.max(axis=0), x.min(axis=0), x.mean(axis=0), (weights * x).sum(axis=0)
    return np.concatenate(rows)


def soft_alignment(x: np.ndarray) -> np.ndarray:
    """For each token of a text `(tokens, dim)`, the mean of all, weighted by softmax(x · x)."""
    if not len(x):
        return x
    scores = x @ x.T
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (scores @ x) / scores.sum(axis=1, keepdims=True)
