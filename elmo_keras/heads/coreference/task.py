"""Coreference as a task."""

import dataclasses
import itertools
from pathlib import Path

import numpy as np

from elmo_keras.commands.arguments import Count, Positive
from elmo_keras.heads.coreference import readers, scores
from elmo_keras.heads.coreference.decoding import find_clusters
from elmo_keras.heads.task import Task


@dataclasses.dataclass(frozen=True, kw_only=True)
class Coreference(Task):
    """Trains a model of coreference: which mentions refer to the same entity.

    Files have the columns of CoNLL-2012, or are CorefUD (.conllu), or JSON with
    `sentences` and `clusters`. Each step reads one document, so --batch-size
    has no effect; the documents of --train are cut into parts of --sentences. The first
    score is the mean F1 of MUC, B³ and CEAF φ4; the scores of links get the constant that
    raises it most on --dev. Whether entities that are mentioned only once are learned,
    found and scored depends on --train: they are if it has such, unless --no-singletons
    leaves them out of all files.

        elmo-keras train-head coref --train train.conll --dev dev.conll --output DIR

    Args:
        hidden_units: size of the hidden layers that compute scores
        longest: maximum length of a mention in tokens
        mentions_per_token: λ, number of spans kept for each token
        sentences: length of the parts into which training documents are cut
        no_singletons: leave out entities that are mentioned once
    """

    hidden_units: Count = 150
    longest: Count = 10
    mentions_per_token: Positive = 0.4
    sentences: Count = 25
    no_singletons: bool = False

    kind = "coref"
    text_fields = row_fields = ("sentences",)
    defaults = Task.defaults | {
        "layer_dropout": 0.3,
        "epochs": 15,
        "word_dim": 50,
        "character_dim": 64,
    }

    def __post_init__(self):
        super().__post_init__()
        import scipy.optimize  # noqa: F401  # scores need it: it fails before the work

    def read_file(self, path):
        is_conllu = ".conllu" in Path(path).suffixes
        read = readers.read_corefud if is_conllu else readers.read_documents
        return self._filter(read(path))

    def read_rows(self, rows, source):
        return self._filter(readers.read_document_rows(rows, source))

    def _filter(self, documents):
        if self.no_singletons:
            return list(map(readers.without_singletons, documents))
        return documents

    def cut(self, examples):
        singletons, n = readers.has_singletons(examples), self.sentences
        parts = (readers.windows(d, n, singletons=singletons) for d in examples)
        return [*itertools.chain(*parts)]

    def check(self, train, others):
        if not any(example["clusters"] for example in train):
            raise ValueError("train should have clusters.")
        super().check(train, others)

    def texts(self, examples):
        return [sentence for e in examples for sentence in e["sentences"]]

    def model_options(self, examples):
        return {
            "hidden_units": self.hidden_units,
            "longest": self.longest,
            "mentions_per_token": self.mentions_per_token,
            "singletons": readers.has_singletons(examples),
        }

    def targets(self, examples, model):
        """The mentions of each document: first token, last token, index of the cluster."""
        rows = (
            [(*mention, i) for i, c in enumerate(e["clusters"]) for mention in c]
            for e in examples
        )
        return [np.array(mentions, "int32").reshape(-1, 3) for mentions in rows]

    def statistics(self, model, examples, results):
        """Entities mentioned once count if the model learned such."""
        if not model.singletons:
            examples = list(map(readers.without_singletons, examples))
        clusters = [example["clusters"] for example in examples]
        return scores.coreference_statistics(clusters, results)

    def scores(self, statistics):
        return scores.coreference_scores(statistics)

    def calibrate(self, model, batches):
        """Moves the scores of antecedents to where the examples' F1 is the highest.

        Most spans are no mention, so that the loss alone makes links too rare.
        """
        outputs = model.example_scores(batches)

        def f1(shift):
            results = []
            for document in outputs:
                shifts = np.pad([-shift], (0, document["scores"].shape[1] - 1))
                moved = document | {"scores": document["scores"] + shifts}
                results.append(find_clusters(moved, model.singletons))
            statistics = self.statistics(model, batches.examples, results)
            values = self.scores(statistics).values()
            return next(iter(values)), -abs(shift)

        shift = max(np.arange(-2, 4.25, 0.25), key=f1)
        model.antecedents.scores.bias.assign_add([shift])
