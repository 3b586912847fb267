"""Turns documents into the batches of `model.fit`."""

import tensorflow as tf

from elmo_keras.tasks.coreference.documents import document_inputs
from elmo_keras.tasks.experiments.batches import Batches


class DocumentBatches(Batches):
    """Batches of one document each, with its sentences along the first axis.

    See `Batches`. The text field holds lists of sentences; `batch_size` is not used.
    """

    def __init__(self, examples, text_fields, number_fields=(), **options):
        super().__init__(
            examples, text_fields, number_fields, **options | {"batch_size": 1}
        )

    @staticmethod
    def texts(examples, text_fields):
        """The sentences of all documents."""
        return [s for e in examples for field in text_fields for s in e[field]]

    def inputs(self, rows):
        (document,) = (self.examples[i] for i in rows)
        inputs = document_inputs(document["sentences"], document["speakers"])
        if self.cache is not None:
            layers = self.cache(document["sentences"])
            inputs["sentences_layers"] = tf.constant(layers)
        return inputs
