"""Tasks whose examples have a label, or several: targets and scores."""

import dataclasses

import numpy as np

from elmo_keras.tasks.task import Task


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelTask(Task):
    compares_tokens = True

    def targets(self, examples, model):
        """The index of each label; of multi-label texts, 1 for each right one, else 0."""
        if model.multi_label:
            rows = [np.isin(model.labels, e["labels"]) for e in examples]
            return [row.astype("float32") for row in rows]
        return [model.labels.index(example["label"]) for example in examples]

    def statistics(self, model, examples, predictions):
        """Whether a label is right; or of each label whether it is, is expected and predicted."""
        predicted = model.decide(np.stack(predictions))
        if not model.multi_label:
            pairs = zip(examples, predicted, strict=True)
            return np.array([[example["label"] == label] for example, label in pairs])
        rows = [example["labels"] for example in examples]
        expected = np.array([np.isin(model.labels, labels) for labels in rows])
        predicted = np.array([np.isin(model.labels, labels) for labels in predicted])
        return np.hstack([expected & predicted, expected, predicted])

    def scores(self, statistics):
        """Accuracy; or F1 = 2 · right / (expected + predicted), by label and over all."""
        if statistics.shape[1] == 1:
            return {"accuracy": float(statistics.mean())}
        right, expected, predicted = np.split(statistics.sum(axis=0), 3)
        total = expected + predicted
        macro = 2 * right / np.maximum(total, 1)
        micro = 2 * right.sum() / max(1, total.sum())
        return {"macro F1": float(macro.mean()), "micro F1": float(micro)}
