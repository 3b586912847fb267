"""The network that answers questions, without TensorFlow."""

import dataclasses

import numpy as np

from elmo_keras.base.argument_checks import check_counts, from_json
from elmo_keras.heads.answering.decoding import Scores
from elmo_keras.heads.head import Head, NetworkArguments
from elmo_keras.heads.light import LightEncoder, read_bilstm, read_dense, softmax
from elmo_keras.heads.token_batch import TokenBatch

ALWAYS = -2e9  # score of no answer where there always is one, as in `QuestionAnswering`


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnswererArguments(NetworkArguments):
    unanswerable: bool
    endings: list[str]
    longest_answer: int


class LightAnswerer:
    """A `QuestionAnswering` of a head."""

    def __init__(self, head: Head):
        arguments = from_json(AnswererArguments, head.card.model)
        units, self.unanswerable = arguments.units, arguments.unanswerable
        self.endings, self.longest_answer = arguments.endings, arguments.longest_answer
        check_counts(longest_answer=self.longest_answer)
        self._encoder = LightEncoder(head, units)
        encoded, dim = self._encoder.dim, 2 * units
        self._reader = read_bilstm(head, "reader", dim, units)
        self._start_lstm = read_bilstm(head, "start_lstm", dim, units)
        self._end_lstm = read_bilstm(head, "end_lstm", 2 * dim, units)
        self._attention = _LightAttention(head, "attention", encoded)
        self._attended = read_dense(head, "attended", 4 * encoded, dim)
        self._self_attention = _LightAttention(head, "self_attention", dim)
        self._self_attended = read_dense(head, "self_attended", 3 * dim, dim)
        self._starts = read_dense(head, "start_scores", dim, 1)
        self._ends = read_dense(head, "end_scores", dim, 1)
        if self.unanswerable:
            self._doubt = read_dense(head, "doubt", 2 * dim, units)
            self._none = read_dense(head, "no_answer_score", units, 1)

    def scores(self, contexts: TokenBatch, questions: TokenBatch) -> list[Scores]:
        """The scores of each pair, of the context's tokens and of no answer."""
        context, question = self._encoder(contexts), self._encoder(questions)
        pairs = [*zip(contexts.parts, questions.parts)]
        x = [_to_question(self._attention, context[a], question[b]) for a, b in pairs]
        x = np.maximum(self._attended(np.concatenate(x)), 0)
        y = self._reader(x, contexts.lengths)
        y = [_to_itself(self._self_attention, y[part]) for part in contexts.parts]
        x = x + np.maximum(self._self_attended(np.concatenate(y)), 0)
        m = self._start_lstm(x, contexts.lengths)
        n = self._end_lstm(np.concatenate([x, m], axis=1), contexts.lengths)
        starts, ends = self._starts(m)[:, 0], self._ends(n)[:, 0]
        none = [ALWAYS] * len(pairs)
        if self.unanswerable:
            pairs = (starts, m), (ends, n)
            means = np.array(
                [[softmax(s[p]) @ h[p] for s, h in pairs] for p in contexts.parts]
            ).reshape(len(contexts.parts), -1)
            none = self._none(np.maximum(self._doubt(means), 0))[:, 0]
        return [(starts[p], ends[p], z) for p, z in zip(contexts.parts, none)]


class _LightAttention:
    """`u · h_i + v · q_j + (w ∘ h_i) · q_j` of two texts: `(tokens, tokens)`."""

    def __init__(self, head, name, dim):
        self._u, self._v, self._w = (head.weight(f"{name}/{x}", dim) for x in "uvw")

    def __call__(self, texts, others):
        alone, other = texts @ self._u, others @ self._v
        return alone[:, None] + other + (texts * self._w) @ others.T


def _to_question(attention, h, q):
    """The same as `AttentionFlow`, of one pair."""
    scores = attention(h, q)
    c, highest = softmax(scores) @ q, softmax(scores.max(axis=1)) @ h
    return np.concatenate([h, c, h * c, h * highest], axis=1)


def _to_itself(attention, h):
    """The same as `SelfAttention`, of one text."""
    others = 1 - np.eye(len(h), dtype=np.float32)
    c = (softmax(np.where(others, attention(h, h), ALWAYS)) * others) @ h
    return np.concatenate([h, c, h * c], axis=1)
