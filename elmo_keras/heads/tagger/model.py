"""A sequence tagger: bidirectional LSTM and CRF."""

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.base.argument_checks import check_labels
from elmo_keras.heads.model import TaskModel, mean_cross_entropy
from elmo_keras.heads.tagger.crf import LinearChainCRF
from elmo_keras.heads.tagger.decoding import Crf, TagDecoder
from elmo_keras.heads.tagger.entities import constraints, marks_spans
from elmo_keras.heads.token_vectors import TokenVectors
from elmo_keras.layers.unquantized import Dense


@keras.saving.register_keras_serializable("elmo_keras")
class Tagger(TaskModel):
    """Assigns a tag to each token: `x → biLSTM → [h; ELMo] → scores → CRF`.

    Args:
        token_vectors, units, dropout: see `TaskModel`.
        tags: names of the tags. `I-X` is predicted only after `B-X` or `I-X`.
        crf: whether to score whole sequences; otherwise, each tag by itself.
        predicate_dim: size of the vector that marks the predicate of semantic roles;
            0 for no such input.

    Call arguments:
        inputs: `tokens`, strings `(batch, time)`, see `TaskModel`; with `predicate_dim`
            also `predicate`, `(batch, time)`, 1 at the predicate, else 0.

    Output: scores of the tags `(batch, time, tags)`. `predict` gives the tags of lists of
    tokens, for roles with the position of each `predicate`. Labels are the indices of tags,
    int32 `(batch, time)`, −1 at padding; the loss is the mean over tokens of −log p.

    >>> tagger = Tagger(TokenVectors(words=["a"]), tags=["DET", "NOUN"])
    >>> tagger.run_eagerly = True  # two sentences need no graph
    >>> [len(tags) for tags in tagger.predict([["a", "word"], ["one"]])]
    [2, 1]

    Reference: Peters et al. 2018, sections 4 (named entities, semantic roles); Lample
    et al. 2016; He et al. 2017.
    """

    listed = ("tags",)

    def __init__(
        self,
        token_vectors: TokenVectors,
        *,
        tags: Sequence[str],
        units: int = 100,
        dropout: float = 0.5,
        crf: bool = True,
        predicate_dim: int = 0,
        **kwargs,
    ):
        check_labels(tags=tags)
        sizes = {"units": units, "predicate_dim": predicate_dim}
        super().__init__(token_vectors, dropout=dropout, **sizes, **kwargs)
        self.tags = tuple(tags)
        self.predicate_dim = predicate_dim
        self.other_fields = ("predicate",) if predicate_dim else ()
        n_tags = len(self.tags)
        self.tag_scores = Dense(n_tags)
        self.crf = LinearChainCRF(n_tags, constraints(self.tags)) if crf else None

    @property
    def kind(self) -> str:
        """`srl` with `predicate_dim`, `ner` if the tags mark spans, else `pos`."""
        if self.predicate_dim:
            return "srl"
        return "ner" if marks_spans(self.tags) else "pos"

    def part_sizes(self):
        crf = {} if self.crf is None else {"crf": len(self.tags)}
        return {"tag_scores": self.encoder.output_dim} | crf

    def call(self, inputs, training=False):
        x, _, _ = self.encode(inputs, "tokens", training)
        return self.tag_scores(x)

    def data_loss(self, x, y, y_pred):
        if self.crf is None:
            return mean_cross_entropy(y, y_pred)
        total = -tf.reduce_sum(self.crf.log_likelihood(y_pred, y, y >= 0))
        n_tokens = tf.reduce_sum(tf.cast(y >= 0, total.dtype))
        return total / tf.maximum(n_tokens, 1)

    @property
    def decoder(self) -> TagDecoder:
        """Finds the best tags for `scores`."""
        crf = None
        if self.crf is not None:
            weights = self.crf.weights_in("float32").only(self.crf.allowed)
            crf = Crf(*(np.asarray(weight) for weight in weights))
        return TagDecoder(self.tags, crf)

    def decode(self, scores, examples):
        lengths = np.array([len(example["tokens"]) for example in examples])
        return self.decoder.best_tags(scores, lengths)

    def read_example(self, example):
        if not self.predicate_dim:
            return example
        n, position = len(example["tokens"]), example.get("predicate", -1)
        if not 0 <= position < n:
            raise ValueError(
                "`predicate` should hold the position of a token for each sentence, from 0 "
                f"to its number of tokens - 1. Received: {position} for {n} tokens"
            )
        return example | {"predicate": np.arange(n) == position}

    def arguments(self):
        return super().arguments() | {
            "tags": list(self.tags),
            "crf": self.crf is not None,
            "predicate_dim": self.predicate_dim,
        }
