"""Entailment as a task."""

from elmo_keras.heads.labels import LabelTask
from elmo_keras.heads.task import Task


class Entailment(LabelTask):
    """Trains a model of entailment: whether a hypothesis follows from a premise.

    Files are JSON, a list or lines, or tables whose first line names the columns: `premise`,
    `hypothesis`, and `label` or `labels`. The scores are accuracy, or macro and micro F1.

        elmo-keras train-head entail --train train.tsv --dev dev.tsv --output DIR
    """

    kind = "entail"
    text_fields = row_fields = "premise", "hypothesis"
    defaults = Task.defaults | {"units": 50, "layer_dropout": 0.3}
