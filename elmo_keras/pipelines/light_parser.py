"""A parser without TensorFlow: layers of the biLM in, dependency trees out."""

import numpy as np

from elmo_keras.argument_checks import check_names
from elmo_keras.lite.layers import LiteBiLstm
from elmo_keras.lite.layers import LiteDense
from elmo_keras.pipelines.light_heads import (
    Batch,
    LightTokenVectors,
    read_lstms,
)
from elmo_keras.tasks.head_files import HeadFile
from elmo_keras.tasks.trees import LONGEST, SLOPE, decode_tree, spanning_tree
from elmo_keras.text.sentences import str_tokens

_ROWS = 256  # whose scores of relations are computed at once


class LightParser:
    """A `DependencyParser` of a head.

    Attributes:
        relations: all but `root`.
        columns: column of CoNLL-U → its labels.
        lemmas: form → its lemma, of known forms.
        follows_guidelines: see `DependencyParser`.
    """

    def __init__(self, head: HeadFile):
        config, units = head.config, head.config["units"]
        self.relations = str_tokens(config["relations"])
        self.columns = {name: str_tokens(x) for name, x in config["labels"].items()}
        check_names(relations=self.relations, **self.columns)
        forms, lemmas = config["lemmas"].keys(), config["lemmas"].values()
        self.lemmas = dict(zip(forms, str_tokens(lemmas)))
        self.follows_guidelines = config["follows_guidelines"]
        self._vectors = LightTokenVectors(head)
        lstms = read_lstms(head, "encoder", self._vectors.input_dim)
        self._first = LiteBiLstm(lstms)
        dim = 2 * units + self._vectors.output_dim
        lstms = read_lstms(head, "lstm", dim)
        arc, relation = config["arc_units"], config["relation_units"]
        sizes = [arc, arc, relation, relation, config["label_units"]]
        self._ends = np.cumsum(sizes)
        shape = 2 * units, int(self._ends[-1])
        kernels = np.split(head.weight("hidden/kernel", *shape), 2)
        pairs = zip(lstms, kernels)
        self._second = LiteBiLstm([[*lstm, kernel] for lstm, kernel in pairs])
        self._bias = head.weight("hidden/bias", shape[1])
        self._arcs = _dense(head, "arcs", arc, 1 + arc)
        n = len(self.relations) * (1 + relation)
        self._relations = _dense(head, "relation_scores", relation, n)
        n = sum(map(len, self.columns.values()))
        self._labels = _dense(head, "label_scores", config["label_units"], n)

    def parse(self, batch: Batch) -> list[dict[str, list]]:
        """The columns of each sentence, see `trees`."""
        x, at_output = self._vectors(batch)
        x = self._first(x, batch.lengths)
        if at_output is not None:
            x = np.concatenate([x, at_output], axis=1)
        x = self._second(x, batch.lengths) + self._bias
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
        tree = spanning_tree(np.concatenate([root, d @ heads[piece].T], axis=1))
        found[piece] = np.where(tree, tree + piece.start, 0)
    # The roots of later pieces hang on the first one.
    roots = np.flatnonzero(found == 0)
    found[roots[1:]] = roots[:1] + 1
    return found
