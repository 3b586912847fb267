"""Targets and scores of models that choose among labels."""

from collections.abc import Iterable, Sequence

import numpy as np

from elmo_keras.tasks.layers.label_model import LabelModel


def label_targets(examples: list[dict], model: LabelModel) -> list:
    """The number of each label; for several labels, 1 for each right one, else 0."""
    if model.multi_label:
        return [np.isin(model.labels, e["labels"]).astype("float32") for e in examples]
    return [model.labels.index(example["label"]) for example in examples]


def label_scores(
    model: LabelModel, examples: list[dict], predictions: list
) -> dict[str, float]:
    """Accuracy; where there may be several labels, macro and micro F1."""
    found = model.decide(np.stack(predictions))
    if model.multi_label:
        return multi_label_f1([e["labels"] for e in examples], found, model.labels)
    right = [e["label"] == label for e, label in zip(examples, found, strict=True)]
    return {"accuracy": float(np.mean(right))}


def multi_label_f1(
    expected: Sequence[Iterable[str]],
    found: Sequence[Iterable[str]],
    labels: Sequence[str],
) -> dict[str, float]:
    """F1 = 2 · both / (expected + found), as the mean over labels and over all together.

    A label that never occurs counts 0.
    """
    is_expected, is_found = (
        np.array([np.isin(labels, list(row)) for row in rows])
        for rows in (expected, found)
    )
    both = (is_expected & is_found).sum(axis=0)
    either = is_expected.sum(axis=0) + is_found.sum(axis=0)
    macro = 2 * both / np.maximum(either, 1)
    micro = 2 * both.sum() / max(1, either.sum())
    return {"macro F1": float(macro.mean()), "micro F1": float(micro)}
