"""Scores of labels."""

from collections.abc import Iterable, Sequence

import numpy as np


def accuracy(expected: Sequence, found: Sequence) -> float:
    """The share of the labels that are right; 0 where there are none."""
    right = [one == other for one, other in zip(expected, found, strict=True)]
    return float(np.mean(right)) if right else 0.0


def multi_label_f1(
    expected: Sequence[Iterable[str]],
    found: Sequence[Iterable[str]],
    labels: Sequence[str],
) -> dict[str, float]:
    """F1 = 2 · both / (expected + found) where an example may have several labels.

    Returns:
        `"macro F1"`, the mean over `labels`, 0 for a label that never occurs, and
        `"micro F1"`, over all labels together.
    """
    is_expected, is_found = (_indicators(rows, labels) for rows in (expected, found))
    both = (is_expected & is_found).sum(axis=0)
    either = is_expected.sum(axis=0) + is_found.sum(axis=0)
    macro = 2 * both / np.maximum(either, 1)
    micro = 2 * both.sum() / max(1, either.sum())
    return {"macro F1": float(macro.mean()), "micro F1": float(micro)}


def _indicators(rows, labels):
    """Whether an example has a label: bool (examples, labels)."""
    rows = [set(row) for row in rows]
    indicators = [[label in row for label in labels] for row in rows]
    return np.array(indicators, bool).reshape(len(rows), len(labels))
