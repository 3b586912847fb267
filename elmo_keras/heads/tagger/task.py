"""Taggers as tasks: parts of speech, named entities, semantic roles."""

import dataclasses
import operator
from typing import ClassVar, Literal

import numpy as np

from elmo_keras.base.argument_checks import check_counts
from elmo_keras.commands.arguments import Counts
from elmo_keras.heads.head import PREDICATES
from elmo_keras.heads.tagger import entities, readers
from elmo_keras.heads.tagger.span_ends import ENDS, MIN_SHARE, SpanEnds
from elmo_keras.heads.tagger.spans import holds_spans, read_span_rows, read_spans
from elmo_keras.heads.task import Task

PREDICATE_DIM = 10
MAX_CRF_TAGS = 1000  # each pair of them takes memory at each token of a batch


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tagging(Task):
    """A tag for each token.

    Args:
        no_crf: decide each tag by itself
    """

    no_crf: bool = False

    predicate_dim: ClassVar[int] = 0
    # With a learning rate of 0.001, ten epochs of 2,000 sentences find no entity.
    defaults = Task.defaults | {
        "learning_rate": 3e-3,
        "dropout": 0.3,
        "units": 160,
        "layer_dropout": 0.3,
    }

    def read_rows(self, rows, source):
        return readers.read_tag_rows(rows, source)

    def model_options(self, examples):
        tags = sorted({tag for example in examples for tag in example["tags"]})
        crf = not self.no_crf
        return {"tags": tags, "crf": crf, "predicate_dim": self.predicate_dim}

    def check(self, train, scored):
        if len(tags := {tag for example in train for tag in example["tags"]}) < 2:
            raise ValueError(f"train should have two tags or more. Found: {min(tags)}")
        if len(tags) > MAX_CRF_TAGS and not self.no_crf:
            raise ValueError(
                f"train has {len(tags):,} tags, and a CRF takes {MAX_CRF_TAGS:,}. If these "
                "are the tags, `no_crf` decides each by itself."
            )
        super().check(train, scored)

    def targets(self, examples, model):
        index = {tag: i for i, tag in enumerate(model.tags)}
        return [np.array([index[tag] for tag in e["tags"]]) for e in examples]

    def statistics(self, model, examples, results):
        """The number of right tags, and of all tags."""
        pairs = [
            (example["tags"], predicted)
            for example, predicted in zip(examples, results, strict=True)
        ]
        return np.array([[sum(map(operator.eq, a, b)), len(a)] for a, b in pairs])

    def scores(self, statistics):
        n_right, n_tags = statistics.sum(axis=0)
        return {"accuracy": n_right / max(n_tags, 1)}

    def parts(self, example, result=None):
        """The tokens with their tags."""
        return dict(enumerate(example["tags"] if result is None else result))


@dataclasses.dataclass(frozen=True, kw_only=True)
class PosTagging(Tagging):
    """Trains a tagger of parts of speech.

    Files are CoNLL-U, of which UPOS is learned. The score is accuracy.

        elmo-keras train-head pos --train train.conllu --dev dev.conllu --output DIR

    Args:
        tokenizer: how the head splits texts: as the models' text, or as the treebanks EWT
            or GSD
    """

    tokenizer: Literal["words", "ewt", "gsd"] = "words"

    kind = "pos"
    read_file = staticmethod(readers.read_conllu)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpanTagging(Tagging):
    """Tags that mark spans."""

    def statistics(self, model, examples, results):
        """Right tags and all; spans that are right, that there are, and that are predicted."""
        counts = [
            entities.count_spans(self.find(example["tags"]), self.find(predicted))
            for example, predicted in zip(examples, results, strict=True)
        ]
        tags = super().statistics(model, examples, results)
        return np.hstack([tags, np.reshape(counts, (-1, 3))])

    find = staticmethod(entities.entities)  # the spans that count

    def scores(self, statistics):
        spans = entities.f1_of_spans(*statistics[:, 2:].sum(axis=0))
        return spans | super().scores(statistics[:, :2])

    def parts(self, example, result=None):
        """The spans with their types."""
        tags = example["tags"] if result is None else result
        return {tuple(span): label for *span, label in entities.entities(tags)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class EntityTagging(SpanTagging):
    """Trains a tagger of named entities, or of other spans that don't overlap.

    Files are texts with labelled spans as doccano, Label Studio, Prodigy, brat, spaCy,
    INCEpTION and others write them; columns with entities as IO, BIO, BIOES or BMES; or CoNLL-U with entities in
    MISC. The score is F1 of entities.

        elmo-keras train-head ner --train train.jsonl --output DIR
        elmo-keras train-head ner --train train.conll --dev dev.conll --output DIR

    Args:
        columns: positions of word and tag in files of columns, from 1
        tokenizer: how texts are split, those of files with spans and those that the head
            gets: as the models' text, or as the treebanks EWT or GSD
    """

    columns: Counts | None = None
    tokenizer: Literal["words", "ewt", "gsd"] = "words"

    kind = "ner"

    def __post_init__(self):
        super().__post_init__()
        if self.columns is not None:
            word, tag = self.columns
            check_counts(word=word, tag=tag)

    def read_file(self, path):
        if self.columns is None and holds_spans(path):
            return read_spans(path, self.tokenizer)
        return readers.read_columns(path, self.columns)

    def pair(self, text, label):
        name = "text" if isinstance(text, str) else "tokens"
        return {name: text, "label" if name == "text" else "tags": label}

    def read_rows(self, rows, source):
        return read_span_rows(rows, source, self.tokenizer)

    def head_arrays(self, examples):
        """The weights of `SpanEnds`, if many spans end within a word."""
        ends = [end for e in examples for end in e.get("left_out", ())]
        n_within = sum(n > 0 for *_, n in ends)
        is_learned = n_within > len(ends) * MIN_SHARE
        return {ENDS: SpanEnds.fit(ends).kernel} if is_learned else {}


@dataclasses.dataclass(frozen=True, kw_only=True)
class PredicateTagging(SpanTagging):
    """Finds the predicates of the files of `RoleTagging`; the score is their F1."""

    kind = "ner"

    def read_file(self, path):
        return readers.predicates_of_roles(readers.read_roles(path))

    def read_rows(self, rows, source):
        return readers.predicates_of_roles(readers.read_role_rows(rows, source))


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoleTagging(SpanTagging):
    """Trains a tagger of semantic roles, and one that finds their predicates.

    Files have columns with the word, the predicate, and BIO tags or brackets for each
    predicate, or are CoNLL-2009, 2012 or Universal PropBank. The score is F1 of arguments as the script of CoNLL-2005 counts, without the
    predicate itself, which is given.

        elmo-keras train-head srl --train train.conll --dev dev.conll --output DIR
    """

    kind = "srl"
    predicate_dim = PREDICATE_DIM
    read_file = staticmethod(readers.read_roles)
    find = staticmethod(entities.arguments)

    def read_rows(self, rows, source):
        return readers.read_role_rows(rows, source)

    def parts(self, example, result=None):
        """The arguments with their roles; the predicate is given."""
        parts = super().parts(example, result)
        return {k: role for k, role in parts.items() if role != entities.PREDICATE}

    def companions(self):
        return {PREDICATES: PredicateTagging(no_crf=self.no_crf)}
