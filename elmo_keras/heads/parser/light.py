"""The parser without TensorFlow."""

import dataclasses

import numpy as np

from elmo_keras.base.argument_checks import from_json
from elmo_keras.heads.head import Head, NetworkArguments
from elmo_keras.heads.light import LightEncoder, read_dense, read_lstms
from elmo_keras.heads.parser.decoding import SLOPE, TreeDecoder, check_columns
from elmo_keras.heads.token_batch import TokenBatch
from elmo_keras.lite.layers import LiteBiLstm


@dataclasses.dataclass(frozen=True, kw_only=True)
class ParserArguments(NetworkArguments):
    relations: list[str]
    labels: dict[str, list[str]]
    lemmas: dict[str, str]
    arc_units: int
    relation_units: int
    label_units: int


class LightParser:
    """A `DependencyParser` of a head."""

    def __init__(self, head: Head):
        arguments = from_json(ParserArguments, head.card.model)
        self.relations, self.labels = arguments.relations, arguments.labels
        check_columns(self.relations, self.labels, arguments.lemmas)
        self.decoder = TreeDecoder(
            self.relations,
            self.labels,
            arguments.lemmas,
            slope=head.card.score_slope,
            bias=head.card.score_bias,
        )
        units, label_units = arguments.units, arguments.label_units
        self._encoder = LightEncoder(head, units)
        lstms = read_lstms(head, "lstm", self._encoder.dim, units)
        arc, relation = arguments.arc_units, arguments.relation_units
        self._ends = np.cumsum([arc, arc, relation, relation, label_units])
        shape = 2 * units, int(self._ends[-1])
        kernels = np.split(head.weight("hidden/kernel", *shape), 2)
        pairs = zip(lstms, kernels)
        self._lstm = LiteBiLstm([[*lstm, kernel] for lstm, kernel in pairs])
        self._bias = head.weight("hidden/bias", shape[1])
        self._arcs = read_dense(head, "arcs", arc, 1 + arc)
        n = len(self.relations) * (1 + relation)
        self._relations = read_dense(head, "relation_scores", relation, n)
        n = sum(map(len, self.labels.values()))
        self._labels = read_dense(head, "label_scores", label_units, n)

    def scores(self, batch: TokenBatch) -> dict[str, np.ndarray]:
        """The outputs of `DependencyParser` for flat sentences, each `(tokens, …)`."""
        x = self._lstm(self._encoder(batch), batch.lengths) + self._bias
        x = np.maximum(x, SLOPE * x)
        d, e, r, q, t = np.split(x, self._ends[:-1], axis=1)
        root, d = np.split(self._arcs(d), [1], axis=1)
        sizes = np.cumsum([len(names) for names in self.labels.values()])
        labels = np.split(self._labels(t), sizes[:-1], axis=1)
        return {
            "root": root,
            "dependent": d,
            "head": e,
            "relation": self._relations(r),
            "relation_head": np.pad(q, [(0, 0), (0, 1)], constant_values=1),
            **dict(zip(self.labels, labels)),
        }
