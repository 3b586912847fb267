"""Targets and scores of the labels of texts."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from elmo_keras.tasks.layers.task_model import LabelModel


def label_targets(examples: list[dict], model: "LabelModel") -> list:
    """The number of each label; for several labels, 1 for each right one, else 0."""
    if model.multi_label:
        return [np.isin(model.labels, e["labels"]).astype("float32") for e in examples]
    return [model.labels.index(example["label"]) for example in examples]


def label_numbers(
    model: "LabelModel", examples: list[dict], predictions: list
) -> np.ndarray:
    """Whether an example's label is right; or where labels are right, expected and found."""
    found = model.decide(np.stack(predictions))
    if not model.multi_label:
        pairs = zip(examples, found, strict=True)
        return np.array([[example["label"] == label] for example, label in pairs])
    sets = [example["labels"] for example in examples], found
    expected, found = (
        np.array([np.isin(model.labels, list(row)) for row in rows]) for rows in sets
    )
    return np.hstack([expected & found, expected, found])


def label_scores(numbers: np.ndarray) -> dict[str, float]:
    """Accuracy; or F1 = 2 · right / (expected + found), by label and over all together."""
    if numbers.shape[1] == 1:
        return {"accuracy": float(numbers.mean())}
    both, expected, found = np.split(numbers.sum(axis=0), 3)
    either = expected + found
    macro = 2 * both / np.maximum(either, 1)
    micro = 2 * both.sum() / max(1, either.sum())
    return {"macro F1": float(macro.mean()), "micro F1": float(micro)}


OF_LABELS = {"targets": label_targets, "numbers": label_numbers, "scores": label_scores}
