"""Answers to questions without TensorFlow: layers of the biLM in, scores of spans out."""

import numpy as np

from elmo_keras.lite.layers import LiteBiLstm
from elmo_keras.pipelines.arithmetic import softmax
from elmo_keras.pipelines.light_heads import (
    Batch,
    Dense,
    LightTokenVectors,
    read_lstms,
)
from elmo_keras.tasks.head_files import HeadFile
from elmo_keras.text.sentences import str_tokens

Scores = tuple[np.ndarray, np.ndarray, float]  # of starts, of ends, of no answer
NO_ANSWER = -2e9  # where there always is one, as in `QuestionAnswering`


class LightAnswerer:
    """A `QuestionAnswering` of a head."""

    temperature = 1.0  # divides the scores of spans

    def __init__(self, head: HeadFile):
        config, units = head.config, head.config["units"]
        self.endings = str_tokens(config["endings"])
        self.longest_answer = config["longest_answer"]
        self._vectors = LightTokenVectors(head)
        encoded, dim = 2 * units + self._vectors.output_dim, 2 * units
        lstms = {
            "encoder": self._vectors.input_dim,
            "reader": dim,
            "start_lstm": dim,
            "end_lstm": 2 * dim,
        }
        self._encoder, self._reader, self._start_lstm, self._end_lstm = (
            LiteBiLstm(read_lstms(head, name, n)) for name, n in lstms.items()
        )
        self._attention = _Attention(head, "attention", encoded)
        self._attended = Dense(head, "attended", 4 * encoded, dim)
        self._self_attention = _Attention(head, "self_attention", dim)
        self._self_attended = Dense(head, "self_attended", 3 * dim, dim)
        self._starts = Dense(head, "start_scores", dim, 1)
        self._ends = Dense(head, "end_scores", dim, 1)
        self._unanswerable = config["unanswerable"]
        if self._unanswerable:
            self._doubt = Dense(head, "doubt", 2 * dim, units)
            self._none = Dense(head, "no_answer_score", units, 1)

    def scores(self, contexts: Batch, questions: Batch) -> list[Scores]:
        """The scores of each pair, of the context's tokens and of no answer."""
        context, question = self._encode(contexts), self._encode(questions)
        pairs = [*zip(contexts.parts, questions.parts)]
        x = [_to_question(self._attention, context[a], question[b]) for a, b in pairs]
        x = np.maximum(self._attended(np.concatenate(x)), 0)
        y = self._reader(x, contexts.lengths)
        y = [_to_itself(self._self_attention, y[part]) for part in contexts.parts]
        x = x + np.maximum(self._self_attended(np.concatenate(y)), 0)
        m = self._start_lstm(x, contexts.lengths)
        n = self._end_lstm(np.concatenate([x, m], axis=1), contexts.lengths)
        starts, ends = self._starts(m)[:, 0], self._ends(n)[:, 0]
        none = [NO_ANSWER] * len(pairs)
        if self._unanswerable:
            means = [
                np.concatenate(
                    [softmax(s[p]) @ h[p] for s, h in ((starts, m), (ends, n))]
                )
                for p in contexts.parts
            ]
            none = self._none(np.maximum(self._doubt(np.array(means)), 0))[:, 0]
        return [(starts[p], ends[p], z) for p, z in zip(contexts.parts, none)]

    def _encode(self, batch):
        x, at_output = self._vectors(batch)
        h = self._encoder(x, batch.lengths)
        return h if at_output is None else np.concatenate([h, at_output], axis=1)


class _Attention:
    """`u · h_i + v · q_j + (w ∘ h_i) · q_j` of two texts: `(tokens, tokens)`."""

    def __init__(self, head, name, dim):
        self._u, self._v, self._w = (head.weight(f"{name}/{x}", dim) for x in "uvw")

    def __call__(self, texts, others):
        alone, other = texts @ self._u, others @ self._v
        return alone[:, None] + other + (texts * self._w) @ others.T


def _to_question(attention, h, q):
    """As `AttentionFlow`."""
    scores = attention(h, q)
    c, highest = softmax(scores) @ q, softmax(scores.max(axis=1)) @ h
    return np.concatenate([h, c, h * c, h * highest], axis=1)


def _to_itself(attention, h):
    """As `SelfAttention`."""
    others = 1 - np.eye(len(h), dtype=np.float32)
    c = (softmax(np.where(others, attention(h, h), NO_ANSWER)) * others) @ h
    return np.concatenate([h, c, h * c], axis=1)
