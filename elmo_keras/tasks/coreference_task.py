"""The task `coreference`: which mentions refer to the same entity."""

import dataclasses

import numpy as np

from elmo_keras.tasks.coreference_scores import (
    coreference_scores,
    coreference_statistics,
)
from elmo_keras.tasks.documents import (
    has_singletons,
    read_conll_2012,
    windows,
    without_singletons,
)
from elmo_keras.tasks.task import Task
from elmo_keras.util.arguments import Count, Positive, Rate


@dataclasses.dataclass(frozen=True, kw_only=True)
class Coreference(Task):
    """Finds mentions of the same entity: the settings of `Task`, and these.

    A step reads one document, so `batch_size` has no effect.

    Args:
        hidden_units: size of the hidden layers that compute scores.
        longest: maximum length of a mention in tokens.
        mentions_per_token: λ, how many spans are kept.
        sentences: length of the parts into which training documents are cut.
        no_singletons: whether entities mentioned once are left out, even if `train` has
            such.
    """

    hidden_units: Count = 150
    layer_dropout: Rate = 0.3
    longest: Count = 10
    mentions_per_token: Positive = 0.4
    sentences: Count = 25
    no_singletons: bool = False

    name = "coreference"
    text_fields = ("sentences",)

    def read(self, path):
        """The documents of a file; those of the training file are cut into parts."""
        import scipy.optimize  # noqa: F401, so that it isn't missing after training

        documents = read_conll_2012(path)
        if self.no_singletons:
            documents = [without_singletons(document) for document in documents]
        if path != self.train:
            return documents
        kept = has_singletons(documents)
        return [part for d in documents for part in windows(d, self.sentences, kept)]

    def texts(self, examples):
        return [sentence for e in examples for sentence in e["sentences"]]

    def model(self, token_vectors, examples):
        from elmo_keras.tasks.coreference import CoreferenceModel

        return CoreferenceModel(
            token_vectors,
            units=self.units,
            hidden_units=self.hidden_units,
            longest=self.longest,
            mentions_per_token=self.mentions_per_token,
            dropout=self.layer_dropout,
            singletons=has_singletons(examples),
        )

    def targets(self, examples, model):
        return [
            np.array(
                [
                    (*mention, cluster)
                    for cluster, mentions in enumerate(example["clusters"])
                    for mention in mentions
                ],
                "int32",
            ).reshape(-1, 3)
            for example in examples
        ]

    def batches(self, examples, *, labels=None, cache=None):
        from elmo_keras.tasks.coreference import DocumentBatches

        return DocumentBatches(
            examples, self.text_fields, labels=labels, cache=cache, batch_size=1
        )

    def statistics(self, model, examples, predictions):
        """Entities mentioned once count if the model learned such."""
        from elmo_keras.tasks.coreference import clusters_of_links

        if not model.singletons:
            examples = [without_singletons(example) for example in examples]
        return coreference_statistics(
            [example["clusters"] for example in examples],
            [clusters_of_links(links, model.singletons) for links in predictions],
        )

    def scores(self, statistics):
        return coreference_scores(statistics)
