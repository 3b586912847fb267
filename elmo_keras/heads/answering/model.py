"""A model that answers questions with a span of a text, by attention between the two."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf
from keras import ops

from elmo_keras.heads.answering.decoding import (
    LONGEST_ANSWER,
    NO_ANSWER,
    best_answer,
    offset_tokens,
)
from elmo_keras.heads.encoder import NEVER, FastBidirectional, masked_softmax
from elmo_keras.heads.model import TaskModel
from elmo_keras.heads.token_vectors import TokenVectors
from elmo_keras.layers.unquantized import Dense


class _Attention(keras.layers.Layer):
    """Scores pairs of vectors: `a_ij = u · h_i + v · q_j + (w ∘ h_i) · q_j`.

    Reference: Seo et al. 2017, equation 1.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, texts_shape):
        # Small, so that a score doesn't grow with the number of its terms.
        stddev = texts_shape[-1] ** -0.5
        self.u, self.v, self.w = (
            self.add_weight(
                texts_shape[-1:],
                keras.initializers.RandomNormal(0.0, stddev),
                name=name,
            )
            for name in "uvw"
        )

    def scores(self, texts, others):
        alone = tf.linalg.matvec(texts, self.u)[:, :, None]
        other = tf.linalg.matvec(others, self.v)[:, None]
        return alone + other + tf.matmul(texts * self.w, others, transpose_b=True)


@keras.saving.register_keras_serializable("elmo_keras")
class AttentionFlow(_Attention):
    """Attention from a text to a question, and from the question to the text.

        c_i = Σ_j softmax_j(a_ij) q_j
        h̃ = Σ_i softmax_i(max_j a_ij) h_i
        y_i = [h_i; c_i; h_i ∘ c_i; h_i ∘ h̃]

    Sums and maxima ignore padding, where the masks are false. The output is `(batch, time,
    4 · dim)`.

    Reference: Seo et al. 2017, "Bidirectional Attention Flow for Machine
    Comprehension", section 2.
    """

    def call(self, texts, questions, text_mask, question_mask):
        scores = self.scores(texts, questions)
        weights = masked_softmax(scores, question_mask[:, None, :])
        to_question = ops.matmul(weights, questions)
        highest = tf.reduce_max(
            tf.where(question_mask[:, None, :], scores, scores.dtype.min), axis=2
        )
        weights = masked_softmax(highest, text_mask)[:, None, :]
        to_text = ops.matmul(weights, texts)  # (batch, 1, dim)
        return ops.concatenate(
            [texts, to_question, texts * to_question, texts * to_text], axis=-1
        )


@keras.saving.register_keras_serializable("elmo_keras")
class SelfAttention(_Attention):
    """Attention from each token of a text to the others: `(batch, time, 3 · dim)`.

        c_i = Σ_{j≠i} softmax_j(a_ij) h_j
        y_i = [h_i; c_i; h_i ∘ c_i]

    Reference: Clark and Gardner 2018, "Simple and Effective Multi-Paragraph Reading
    Comprehension", section 3.
    """

    def call(self, texts, mask):
        index = tf.range(tf.shape(texts)[1])
        attended = mask[:, None, :] & (index[:, None] != index)
        weights = masked_softmax(self.scores(texts, texts), attended)
        context = ops.matmul(weights, texts)
        return ops.concatenate([texts, context, texts * context], axis=-1)


@keras.saving.register_keras_serializable("elmo_keras")
class QuestionAnswering(TaskModel):
    """Finds the answer to a question in a context: its first and its last token.

        h, q = [biLSTM(context); ELMo], [biLSTM(question); ELMo]
        x = ReLU layer(AttentionFlow(h, q))
        x ← x + ReLU layer(SelfAttention(biLSTM(x)))
        m = biLSTM(x),        start scores s = u · m
        n = biLSTM([x; m]),   end scores e = v · n
        p(i, j) = exp(s_i + e_j) / (exp z + Σ_i Σ_j exp(s_i + e_j))

    where z, the score of no answer, is computed from the means of m and n, weighted by
    the softmax of their scores; it is left out unless `unanswerable`. The answer is the
    best span of at most `longest_answer` tokens, or none if z is higher. Its last token
    loses the longest of the `endings`: in Korean, answers mostly end before a particle,
    as `서울` in `서울에서`.

    Args:
        token_vectors, units, dropout: see `TaskModel`.
        unanswerable: whether there are questions without an answer (SQuAD 2.0).
        endings: endings of tokens that are not part of an answer.
        longest_answer: maximum length of an answer in tokens.

    Call arguments:
        inputs: `context` and `question`, strings `(batch, time)`, see `TaskModel`.

    Output: start and end scores `(batch, time)`, very low at padding, and the score
    of no answer `(batch,)`. `predict` gives the answers as pieces of contexts, if contexts
    and questions are `str`, `""` for none; for lists of tokens, the first and last token,
    or None. Labels are int32 `(batch, 2)`, first and last token, `NO_ANSWER` for none; the
    loss is the mean of −log p over those that are not `NOT_KNOWN`.

    >>> answerer = QuestionAnswering(TokenVectors(words=["who"]), units=3)
    >>> answerer.run_eagerly = True  # one question needs no graph
    >>> texts = {"context": ["It was Ann."], "question": ["Who was it?"]}
    >>> answerer.predict(texts)[0] in "It was Ann."
    True

    Reference: Seo et al. 2017; Clark and Gardner 2018, sections 3 and 4, the model
    of Peters et al. 2018, section 4, with LSTMs and one paragraph.
    """

    kind = "qa"
    text_fields = "context", "question"
    compares_tokens = True
    finds_words = True

    def __init__(
        self,
        token_vectors: TokenVectors,
        *,
        units: int = 100,
        dropout: float = 0.2,
        unanswerable: bool = False,
        endings: Iterable[str] = (),
        longest_answer: int = LONGEST_ANSWER,
        **kwargs,
    ):
        super().__init__(token_vectors, units=units, dropout=dropout, **kwargs)
        self.unanswerable, self.longest_answer = unanswerable, longest_answer
        self.endings = list(endings)
        self.attention = AttentionFlow(name="attention")
        self.attended = Dense(2 * units, "relu", name="attended")
        self.reader = FastBidirectional(units, name="reader")
        self.self_attention = SelfAttention(name="self_attention")
        self.self_attended = Dense(2 * units, "relu", name="self_attended")
        self.start_lstm = FastBidirectional(units, name="start_lstm")
        self.start_scores = Dense(1, name="start_scores")
        self.end_lstm = FastBidirectional(units, name="end_lstm")
        self.end_scores = Dense(1, name="end_scores")
        if unanswerable:
            self.doubt = Dense(units, "relu", name="doubt")
            self.no_answer_score = Dense(1, name="no_answer_score")

    def part_sizes(self):
        encoded, dim = self.encoder.output_dim, 2 * self.units
        sizes = {
            "attention": encoded,
            "attended": 4 * encoded,
            "reader": dim,
            "self_attention": dim,
            "self_attended": 3 * dim,
            "start_lstm": dim,
            "start_scores": dim,
            "end_lstm": 2 * dim,
            "end_scores": dim,
        }
        no_answer = {"doubt": 2 * dim, "no_answer_score": self.units}
        return sizes | no_answer if self.unanswerable else sizes

    def call(self, inputs, training=False):
        x, mask = self._attended(inputs, training)
        m = self.start_lstm(self.drop(x, training=training), mask=mask)
        n = tf.concat([x, m], axis=-1)
        n = self.end_lstm(self.drop(n, training=training), mask=mask)
        starts, ends = (
            tf.where(mask, tf.squeeze(score(hidden), axis=-1), NEVER)
            for score, hidden in ((self.start_scores, m), (self.end_scores, n))
        )
        return starts, ends, self._no_answer(starts, ends, m, n)

    def _attended(self, inputs, training):
        context, _, mask = self.encode(inputs, "context", training)
        question, _, question_mask = self.encode(inputs, "question", training)
        x = self.attended(self.attention(context, question, mask, question_mask))
        y = self.reader(self.drop(x, training=training), mask=mask)
        y = self.self_attention(self.drop(y, training=training), mask)
        return x + self.self_attended(y), mask

    def _no_answer(self, starts, ends, m, n):
        if not self.unanswerable:
            return tf.fill(tf.shape(starts)[:1], tf.constant(2 * NEVER, starts.dtype))
        means = [
            tf.einsum("bt,btd->bd", tf.nn.softmax(scores), hidden)
            for scores, hidden in ((starts, m), (ends, n))
        ]
        hidden = self.doubt(tf.concat(means, axis=-1))
        return tf.squeeze(self.no_answer_score(hidden), axis=-1)

    def data_loss(self, x, y, y_pred):
        first, last = tf.unstack(tf.cast(y, tf.int32), axis=1)
        starts, ends = (
            tf.gather(scores, tf.maximum(token, 0), batch_dims=1)
            for scores, token in zip(y_pred, (first, last))
        )
        right = tf.where(first == NO_ANSWER, y_pred[2], starts + ends)
        losses = log_total(y_pred) - right
        is_learned = first >= (NO_ANSWER if self.unanswerable else 0)
        n = tf.reduce_sum(tf.cast(is_learned, losses.dtype))
        return tf.reduce_sum(tf.where(is_learned, losses, 0)) / tf.maximum(n, 1)

    def split_scores(self, outputs, lengths):
        """Start and end scores of each context, and the score of no answer."""
        return [
            (starts[:n], ends[:n], float(none))
            for starts, ends, none, n in zip(*outputs, lengths)
        ]

    def join_scores(self, scores):
        return scores

    def decode(self, scores, examples):
        answers = (best_answer(x, self.longest_answer) for x in scores)
        spans = (answer.span if answer.is_answer else None for answer in answers)
        return [self.result(*pair) for pair in zip(examples, spans)]

    def read_example(self, example):
        text, question = example["context"], example["question"]
        if not (isinstance(text, str) and isinstance(question, str)):
            return example
        offsets, asked = offset_tokens(text), offset_tokens(question).tokens
        if not (offsets.tokens and asked):
            raise ValueError(
                "`context` and `question` should be texts with at least one word. "
                f"Received: {text[:40]!r} and {question[:40]!r}"
            )
        tokens = {"context": offsets.tokens, "question": asked}
        return tokens | {"text": text, "offsets": offsets}

    def result(
        self, example: Mapping[str, Any], span: tuple[int, int] | None
    ) -> str | tuple[int, int] | None:
        """The answer with this span: a piece of the text, `""` for none, where there is one."""
        if "text" not in example:
            return span
        if span is None:
            return ""
        return example["offsets"].answer(example["text"], *span, self.endings)

    def arguments(self):
        return super().arguments() | {
            "unanswerable": self.unanswerable,
            "endings": self.endings,
            "longest_answer": self.longest_answer,
        }


def log_total(outputs: Sequence[tf.Tensor]) -> tf.Tensor:
    """The logarithm of the sum over all spans and no answer: `(batch,)`."""
    starts, ends, none = outputs
    total = tf.reduce_logsumexp(starts, axis=1) + tf.reduce_logsumexp(ends, axis=1)
    return tf.reduce_logsumexp([total, none], axis=0)
