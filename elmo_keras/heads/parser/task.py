"""Dependency parsing as a task."""

import collections
import dataclasses
import operator
from typing import Literal

import numpy as np

from elmo_keras.commands.arguments import Count
from elmo_keras.heads.parser import decoding, readers
from elmo_keras.heads.task import Task

SCORED = "upos", "xpos", "feats", "lemma"  # columns with an accuracy each


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parsing(Task):
    """Trains a parser of Universal Dependencies: heads, relations, tags and lemmas.

    Files are CoNLL-U. LAS is the share of words with the right head and relation, without
    its subtype as in UD's script, UAS that with the right head; the others are accuracies
    of UPOS, XPOS, FEATS and LEMMA, where --train has them.

        elmo-keras train-head ud --train train.conllu --dev dev.conllu --output DIR

    Args:
        min_label_count: XPOS, FEATS and rules of lemmas are learned if they occur N times
        tokenizer: how the head splits texts: as the models' text, or as the treebanks EWT
            or GSD
    """

    min_label_count: Count = 3
    tokenizer: Literal["words", "ewt", "gsd"] = "words"

    kind = "ud"
    read_file = staticmethod(readers.read_trees)
    defaults = Task.defaults | {
        "learning_rate": 2e-3,
        "dropout": 0.3,
        "units": 200,
        "layer_dropout": 0.3,
        "word_dim": 50,
        "endings": 3,
    }

    def read_rows(self, rows, source):
        return readers.read_tree_rows(rows, source)

    def check(self, train, others):
        if not {r for e in train for r in e["deprel"]} - {decoding.ROOT}:
            raise ValueError("train should have a relation other than root.")
        super().check(train, others)

    def model_options(self, examples):
        relations = {r for e in examples for r in e["deprel"]} - {decoding.ROOT}
        labels = {}
        for name in decoding.LABELS:
            forms = collections.defaultdict(list)
            for example in examples:
                values = decoding.label_values(example, name)
                for value, form in zip(values, example["tokens"]):
                    forms[value].append(form.lower())
            forms.pop(None, None)
            least = 1 if name in ("upos", "joined") else self.min_label_count
            frequent = {value for value, all_ in forms.items() if len(all_) >= least}
            if name == "lemma" and forms:
                # A rule of one form is no rule: `known_lemmas` has the form.
                frequent = {rule for rule in frequent if len({*forms[rule]}) > 1}
                frequent.add(decoding.lemma_rule("a", "a"))
            if name == "upos" or len(forms) > 1 and frequent:
                labels[name] = sorted(frequent)
        return {
            "relations": sorted(relations),
            "labels": labels,
            "lemmas": decoding.known_lemmas(examples) if "lemma" in labels else {},
        }

    def targets(self, examples, model):
        return [
            decoding.encode_tree(e, model.relations, model.labels) for e in examples
        ]

    def statistics(self, model, examples, results):
        """The number of words, right arcs, right heads and right labels; −1 for no labels."""
        rows = []
        for gold, predicted in zip(examples, results, strict=True):
            heads = np.equal(gold["head"], predicted["head"])
            pairs = zip(gold["deprel"], predicted["deprel"])
            same = [a.split(":")[0] == b.split(":")[0] for a, b in pairs]
            rows.append([len(heads), (heads & same).sum(), heads.sum()])
            for name in SCORED:
                right = map(operator.eq, gold[name], predicted.get(name, ()))
                rows[-1].append(sum(right) if name in predicted else -1)
        return np.array(rows)

    def scores(self, statistics):
        n_words, *right = statistics.sum(axis=0)
        names = "LAS", "UAS", *(name.upper() for name in SCORED)
        return {name: n / n_words for name, n in zip(names, right) if n >= 0}

    def parts(self, example, result=None):
        """The relations of words to their heads."""
        tree = example if result is None else result
        return dict(zip(enumerate(tree["head"]), tree["deprel"]))
