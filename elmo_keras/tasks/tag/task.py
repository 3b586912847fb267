"""The task `tag`: parts of speech, named entities, semantic roles."""

import dataclasses
import operator
from typing import Literal

import numpy as np

from elmo_keras.tasks.entities import (
    arguments,
    count_spans,
    entities,
    marks_spans,
    span_scores,
)
from elmo_keras.tasks.tag.tagged_text import READERS, read_conll
from elmo_keras.tasks.task import Task
from elmo_keras.util.arguments import Count, Positive, Rate

PREDICATE_DIM = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tagging(Task):
    """Tags tokens: the settings of `Task`, and these.

    Args:
        kind: `"pos"`, `"ner"`, `"klue"`, `"srl"` or `"predicates"`; if None, pos for
            *.conllu, else ner.
        columns: positions of word and tag in files of `kind` ner, from 1.
        no_crf: whether each tag is decided independently.
    """

    # With a learning rate of 0.001, ten epochs of 2,000 sentences find no entity.
    learning_rate: Positive = 3e-3
    dropout: Rate = 0.3
    layer_dropout: Rate = 0.3
    kind: Literal["pos", "ner", "klue", "srl", "predicates"] | None = None
    columns: tuple[Count, Count] | None = None
    no_crf: bool = False

    name = "tag"

    @property
    def _kind(self):
        usual = "pos" if ".conllu" in self.train.suffixes else "ner"
        return self.kind or usual

    def read(self, path):
        if self.columns is None:
            return READERS[self._kind](path)
        if self._kind != "ner":
            raise ValueError("--columns is for --kind ner. Leave it out.")
        return read_conll(path, self.columns)

    def model(self, token_vectors, examples):
        from elmo_keras.tasks.tagger import Tagger  # by Keras

        return Tagger(
            token_vectors,
            tags=sorted({tag for example in examples for tag in example["tags"]}),
            units=self.units,
            crf=not self.no_crf,
            dropout=self.layer_dropout,
            predicate_dim=PREDICATE_DIM if self._kind == "srl" else 0,
        )

    def targets(self, examples, model):
        return [
            np.array([model.tags.index(tag) for tag in e["tags"]]) for e in examples
        ]

    def batches(self, examples, *, labels=None, cache=None):
        return super().batches(
            examples,
            labels=labels,
            cache=cache,
            integer_fields=["predicate"] if self._kind == "srl" else (),
        )

    def statistics(self, model, examples, predictions):
        """Tags right and in all; if they mark spans, also spans right, in all and predicted."""
        find_spans = arguments if model.predicate_dim else entities
        rows = []
        for example, ids in zip(examples, predictions, strict=True):
            gold = example["tags"]
            predicted = [model.tags[i] for i in ids[: len(gold)]]
            row = [sum(map(operator.eq, gold, predicted)), len(gold)]
            if model.predicate_dim or marks_spans(model.tags):
                row += count_spans(find_spans(gold), find_spans(predicted))
            rows.append(row)
        return np.array(rows)

    def scores(self, statistics):
        n_right, n_tags, *spans = statistics.sum(axis=0)
        accuracy = {"accuracy": n_right / max(n_tags, 1)}
        return (span_scores(*spans) if spans else {}) | accuracy
