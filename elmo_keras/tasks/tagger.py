"""A sequence tagger: bidirectional LSTM and CRF."""

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.argument_checks import check_names
from elmo_keras.layers.unquantized import Dense
from elmo_keras.tasks.crf import Crf, tag_log_probabilities
from elmo_keras.tasks.entities import (
    constraints,
    marks_spans,
    span_probabilities,
    tag_spans,
)
from elmo_keras.tasks.task_model import TaskModel, mean_cross_entropy
from elmo_keras.tasks.token_vectors import TokenVectors
from elmo_keras.text.tokens import token_mask


@keras.saving.register_keras_serializable("elmo_keras")
class LinearChainCRF(keras.layers.Layer):
    """The trained weights of a `Crf`, and the best tags.

    Args:
        n_tags: number of tags.
        allowed: which tag may follow which, for the best sequence only: bool
            `(n_tags + 1, n_tags)`, the last row for the first token and a tag in each;
            None allows all. See `constraints`.

    Call arguments:
        scores, mask: as of `Crf.best_tags`.

    Output: int32 `(batch, time)`, the best tags, −1 at padding.

    >>> crf = LinearChainCRF(n_tags=3)
    >>> crf(keras.ops.ones((2, 5, 3)), mask=keras.ops.ones((2, 5), bool)).shape
    TensorShape([2, 5])

    Reference: Lafferty et al. 2001; Collobert et al. 2011, section 3.3.2.
    """

    def __init__(
        self, n_tags: int, allowed: Sequence[Sequence[bool]] | None = None, **kwargs
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.n_tags, self.allowed = n_tags, allowed
        shape = n_tags + 1, n_tags
        table = np.ones(shape, bool) if allowed is None else np.array(allowed, bool)
        if table.shape != shape or not table.any(axis=1).all():
            raise ValueError(
                f"`allowed` should have the shape {shape} and a tag in each row. "
                f"Received: {table.astype(int).tolist()}"
            )

    def build(self, input_shape=None):
        n = self.n_tags
        self.transitions = self.add_weight((n, n), "zeros", name="transitions")
        self.first, self.last = (
            self.add_weight((n,), "zeros", name=name) for name in ("first", "last")
        )

    def call(self, scores, mask):
        scores = _at_least_float32(scores)
        return self.weights_in(scores.dtype).only(self.allowed).best_tags(scores, mask)

    def log_likelihood(self, scores, tags, mask) -> tf.Tensor:
        """See `Crf.log_likelihood`."""
        scores = _at_least_float32(scores)
        return self.weights_in(scores.dtype).log_likelihood(scores, tags, mask)

    def weights_in(self, dtype: tf.DType | str) -> Crf:
        weights = self.transitions, self.first, self.last
        return Crf(*(tf.cast(tf.convert_to_tensor(w), dtype) for w in weights))

    def get_config(self):
        return super().get_config() | {"n_tags": self.n_tags, "allowed": self.allowed}


def _at_least_float32(scores):
    """Sums over a sentence need it."""
    scores = tf.convert_to_tensor(scores)
    return tf.cast(scores, tf.float32) if scores.dtype.size < 4 else scores


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
    tokens, where empty strings at the end are padding, for roles with the position of each
    `predicate`; of tensors the indices of the best tags, int32 `(batch, time)`, −1 at
    padding. Labels have the same form; the loss is the mean over tokens of −log p.

    >>> tagger = Tagger(TokenVectors(words=["a"]), tags=["DET", "NOUN"])
    >>> tagger.run_eagerly = True  # two sentences need no graph
    >>> [len(tags) for tags in tagger.predict([["a", "word"], ["one"]])]
    [2, 1]

    Reference: Peters et al. 2018, sections 4 (named entities, semantic roles); Lample
    et al. 2016; He et al. 2017.
    """

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
        check_names(tags=tags)
        sizes = {"units": units, "predicate_dim": predicate_dim}
        super().__init__(token_vectors, dropout=dropout, **sizes, **kwargs)
        self.tags = tuple(tags)
        self.predicate_dim = predicate_dim
        self.other_fields = ("predicate",) if predicate_dim else ()
        n_tags = len(self.tags)
        self.scores = Dense(n_tags)
        self.crf = LinearChainCRF(n_tags, constraints(self.tags)) if crf else None

    def part_sizes(self):
        crf = {} if self.crf is None else {"crf": len(self.tags)}
        return {"scores": self.encoder.output_dim} | crf

    def call(self, inputs, training=False):
        x, _, _ = self.encode(inputs, "tokens", training)
        return self.scores(x)

    def data_loss(self, x, y, y_pred):
        if self.crf is None:
            return mean_cross_entropy(y, y_pred)
        total = -tf.reduce_sum(self.crf.log_likelihood(y_pred, y, y >= 0))
        n_tokens = tf.reduce_sum(tf.cast(y >= 0, total.dtype))
        return total / tf.maximum(n_tokens, 1)

    def decode(self, inputs, outputs):
        """Indices of the best tags: int32 `(batch, time)`, −1 at padding."""
        mask = token_mask(inputs["tokens"])
        if self.crf is not None:
            return self.crf(outputs, mask)
        return tf.where(mask, tf.argmax(outputs, axis=-1, output_type=tf.int32), -1)

    def answers(self, inputs):
        """`tags` `(batch, time)`, their probabilities `scores`, and the spans that they mark.

        If tags mark spans, there are also `span_count` `(batch,)`, and in column i of
        `span_types`, `span_begins`, `span_ends` and `span_scores`, all `(batch, time)`, the
        type of span i, its first token, the one after its last, and the probability that its
        tokens have their tags.
        """
        outputs = self(inputs, training=False)
        ids = self.decode(inputs, outputs)
        crf = self.crf and self.crf.weights_in("float32").only(self.crf.allowed)
        alone, after = tag_log_probabilities(tf.cast(outputs, "float32"), ids, crf)
        names = tf.gather(tf.constant(self.tags), tf.maximum(ids, 0))
        answers = {
            "tags": tf.where(ids >= 0, names, ""),
            "scores": tf.where(ids >= 0, tf.exp(alone), 0.0),
        }
        if not marks_spans(self.tags):
            return answers
        spans = tag_spans(ids, self.tags)
        return answers | {
            "span_count": spans.count,
            "span_types": spans.types,
            "span_begins": spans.begins,
            "span_ends": spans.ends,
            "span_scores": span_probabilities(spans, alone, after),
        }

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

    def result(self, example, output):
        return [self.tags[i] for i in output if i >= 0]

    def get_config(self):
        return super().get_config() | {
            "tags": list(self.tags),
            "crf": self.crf is not None,
            "predicate_dim": self.predicate_dim,
        }
