"""Classification of texts as a task."""

from elmo_keras.heads.labels import LabelTask


class Classification(LabelTask):
    """Trains a classifier of texts.

    Files are JSON, a list or lines, or tables whose first line names the columns: `text` and
    `label`; or `labels` if a text may have none or several. The scores are accuracy, or
    macro and micro F1.

        elmo-keras train-head classify --train train.jsonl --dev dev.jsonl --output DIR
        elmo-keras train-head classify --train train.tsv --output DIR --model none
    """

    kind = "classify"
    row_fields = ("text",)
