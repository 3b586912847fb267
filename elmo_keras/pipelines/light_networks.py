"""Networks of heads without TensorFlow: a classifier, an answerer and a parser."""

import numpy as np

from elmo_keras.argument_checks import check_names, check_numbers
from elmo_keras.lite.layers import LiteBiLstm, LiteDense
from elmo_keras.pipelines.light_heads import (
    Batch,
    Dense,
    LightTokenVectors,
    read_lstms,
    softmax,
)
from elmo_keras.tasks.head_files import HeadFile
from elmo_keras.tasks.ngrams import ngram_scores
from elmo_keras.tasks.trees import LONGEST, SLOPE, decode_tree, spanning_tree
from elmo_keras.text.sentences import str_tokens

Scores = tuple[np.ndarray, np.ndarray, float]  # of starts, of ends, of no answer
NO_ANSWER = -2e9  # where there always is one, as in `QuestionAnswering`
_ROWS = 256  # whose scores of relations are computed at once


class _Encoder:
    """Words and ELMo through the first LSTM of a head: `(tokens, dim)`."""

    def __init__(self, head):
        self._vectors = LightTokenVectors(head)
        self._lstm = _bilstm(head, "encoder", self._vectors.input_dim)
        self.dim = 2 * head.config["units"] + self._vectors.output_dim

    def __call__(self, batch):
        x, at_output = self._vectors(batch)
        x = self._lstm(x, batch.lengths)
        return x if at_output is None else np.concatenate([x, at_output], axis=1)


def _bilstm(head, name, dim):
    return LiteBiLstm(read_lstms(head, name, dim))


class LightClassifier:
    def __init__(self, head: HeadFile):
        config, units = head.config, head.config["units"]
        self.labels, self.threshold = str_tokens(config["labels"]), config["threshold"]
        self.multi_label, n = config["multi_label"], len(self.labels)
        check_names(labels=self.labels)
        check_numbers(0, 1, threshold=self.threshold)
        self._encoder = _Encoder(head)
        self._integrator = _bilstm(head, "integrator", 3 * self._encoder.dim)
        self._attention = Dense(head, "attention", 2 * units, 1)
        self._maxout = Dense(head, "maxout", 8 * units, 4 * units)
        self._decision = Dense(head, "decision", units, n)
        self._units, self._ngrams = units, None
        if rows := config.get("ngram_rows"):
            self._ngrams = head.weight("ngrams/kernel", rows, n)

    def probabilities(self, batch: Batch) -> np.ndarray:
        """Of each label, `(sentences, labels)`."""
        x = self._encoder(batch)
        c = np.concatenate([soft_alignment(x[part]) for part in batch.parts])
        x = np.concatenate([x, x - c, x * c], axis=1)
        x = self._integrator(x, batch.lengths)
        scores = self._attention(x)
        pooled = np.array([_pool(x[part], scores[part]) for part in batch.parts])
        pieces = self._maxout(pooled).reshape(len(pooled), -1, self._units)
        scores = self._decision(pieces.max(axis=1))
        if self._ngrams is not None:
            scores += ngram_scores(self._ngrams, batch.sentences)
        return 1 / (1 + np.exp(-scores)) if self.multi_label else softmax(scores)


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


class LightAnswerer:
    def __init__(self, head: HeadFile):
        config, units = head.config, head.config["units"]
        self.endings = str_tokens(config["endings"])
        self.longest_answer = config["longest_answer"]
        self._encoder = _Encoder(head)
        encoded, dim = self._encoder.dim, 2 * units
        self._reader = _bilstm(head, "reader", dim)
        self._start_lstm = _bilstm(head, "start_lstm", dim)
        self._end_lstm = _bilstm(head, "end_lstm", 2 * dim)
        self._attention = _Attention(head, "attention", encoded)
        self._attended = Dense(head, "attended", 4 * encoded, dim)
        self._self_attention = _Attention(head, "self_attention", dim)
        self._self_attended = Dense(head, "self_attended", 3 * dim, dim)
        self._starts = Dense(head, "start_scores", dim, 1)
        self._ends = Dense(head, "end_scores", dim, 1)
        self.unanswerable = config["unanswerable"]
        if self.unanswerable:
            self._doubt = Dense(head, "doubt", 2 * dim, units)
            self._none = Dense(head, "no_answer_score", units, 1)

    def scores(self, contexts: Batch, questions: Batch) -> list[Scores]:
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
        none = [NO_ANSWER] * len(pairs)
        if self.unanswerable:
            pairs = (starts, m), (ends, n)
            means = np.array(
                [[softmax(s[p]) @ h[p] for s, h in pairs] for p in contexts.parts]
            ).reshape(len(contexts.parts), -1)
            none = self._none(np.maximum(self._doubt(means), 0))[:, 0]
        return [(starts[p], ends[p], z) for p, z in zip(contexts.parts, none)]


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


class LightParser:
    """A `DependencyParser` of a head; `columns` are its `labels`."""

    def __init__(self, head: HeadFile):
        config, units = head.config, head.config["units"]
        self.relations = str_tokens(config["relations"])
        self.columns = {name: str_tokens(x) for name, x in config["labels"].items()}
        check_names(relations=self.relations, **self.columns)
        forms, lemmas = config["lemmas"].keys(), config["lemmas"].values()
        self.lemmas = dict(zip(forms, str_tokens(lemmas)))
        self.follows_guidelines = config["follows_guidelines"]
        self._encoder = _Encoder(head)
        lstms = read_lstms(head, "lstm", self._encoder.dim)
        arc, relation = config["arc_units"], config["relation_units"]
        sizes = [arc, arc, relation, relation, config["label_units"]]
        self._ends = np.cumsum(sizes)
        shape = 2 * units, int(self._ends[-1])
        kernels = np.split(head.weight("hidden/kernel", *shape), 2)
        pairs = zip(lstms, kernels)
        self._lstm = LiteBiLstm([[*lstm, kernel] for lstm, kernel in pairs])
        self._bias = head.weight("hidden/bias", shape[1])
        self._arcs = _dense(head, "arcs", arc, 1 + arc)
        n = len(self.relations) * (1 + relation)
        self._relations = _dense(head, "relation_scores", relation, n)
        n = sum(map(len, self.columns.values()))
        self._labels = _dense(head, "label_scores", config["label_units"], n)

    def parse(self, batch: Batch) -> list[dict[str, list]]:
        """The columns of each sentence, see `trees`."""
        x = self._lstm(self._encoder(batch), batch.lengths) + self._bias
        x = np.maximum(x, SLOPE * x)
        d, e, r, q, t = np.split(x, self._ends[:-1], axis=1)
        d = self._arcs(d)
        heads = [_heads(d[part], e[part]) for part in batch.parts]
        starts = [part.start for part in batch.parts]
        rows = [np.maximum(h - 1, 0) + start for h, start in zip(heads, starts)]
        columns = [self._best_relations(r, q[np.concatenate(rows).astype(int)])]
        sizes = np.cumsum([len(names) for names in self.columns.values()])
        scores = np.split(self._labels(t), sizes[:-1], axis=1)
        columns += [x.argmax(axis=1) for x in scores]
        names = self.relations, self.columns, self.lemmas
        table = np.stack([np.concatenate(heads), *columns], axis=1)
        return [
            decode_tree(tokens, table[part], *names)
            for tokens, part in zip(batch.sentences, batch.parts)
        ]

    def _best_relations(self, r, head):
        """The index of each word's relation to its head."""
        best = np.empty(len(r), int)
        for first in range(0, len(r), _ROWS):
            part = slice(first, first + _ROWS)
            rows = self._relations(r[part]).reshape(
                -1, len(self.relations), r.shape[1] + 1
            )
            scores = np.einsum("nrd,nd->nr", rows[..., :-1], head[part])
            best[part] = (scores + rows[..., -1]).argmax(axis=1)
        return best


def _dense(head, name, n_inputs, n_outputs):
    kernel = head.weight(f"{name}/kernel", n_inputs, n_outputs)
    return LiteDense(kernel, head.weight(f"{name}/bias", n_outputs))


def _heads(dependents, heads):
    """The head of each word of a sentence, 0 for the root."""
    found = np.zeros(len(heads), int)
    pieces = [slice(i, i + LONGEST) for i in range(0, len(heads), LONGEST)]
    for piece in pieces:
        root, d = dependents[piece, :1], dependents[piece, 1:]
        # By einsum, as BLAS would start threads for this.
        scores = np.einsum("id,jd->ij", d, heads[piece])
        tree = spanning_tree(np.concatenate([root, scores], axis=1))
        found[piece] = np.where(tree, tree + piece.start, 0)
    # The roots of later pieces hang on the first one.
    roots = np.flatnonzero(found == 0)
    found[roots[1:]] = roots[:1] + 1
    return found
