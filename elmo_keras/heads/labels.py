"""Labels of texts and of pairs: their files, scores and answers."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from elmo_keras.base.argument_checks import shortened
from elmo_keras.config import TokenizerName
from elmo_keras.heads.reading import Rows, check_any, parse_all, read_strings
from elmo_keras.heads.task import Task
from elmo_keras.text.tokenizers import TOKENIZERS, Tokenizer
from elmo_keras.text.word_rules import RULES


class Labels(Protocol):
    """The rules by which a network's probabilities become labels."""

    labels: Sequence[str]
    multi_label: bool
    threshold: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelTask(Task):
    """Examples with one label each, or with several.

    Args:
        split: split texts at spaces, or at punctuation too (words); lists of tokens stay
    """

    split: TokenizerName = "words"

    @property
    def tokenizer(self):
        return self.split if self.split in RULES else "words"

    def pair(self, text, label):
        name = "labels" if isinstance(label, list) else "label"
        return {self.row_fields[0]: text, name: label}

    def read_rows(self, rows, source, *, training=False):
        fields = dict(zip(self.row_fields, self.text_fields))
        return read_labelled(rows, source, TOKENIZERS[self.split], fields)

    def model_options(self, examples):
        labels = {label for example in examples for label in _labels(example)}
        return {"labels": sorted(labels), "multi_label": "labels" in examples[0]}

    def check(self, train, others):
        if len(labels := {tuple(sorted(_labels(example))) for example in train}) < 2:
            found = " ".join(*labels) or "none"
            raise ValueError(f"train should have two labels or more. Found: {found}")
        firsts = [part[0] for part in others.values() if part]
        if "label" in train[0] and any("labels" in example for example in firsts):
            raise ValueError("train has one label each, and dev or test several.")
        super().check(train, others)

    def targets(self, examples, model):
        """The index of each label; of multi-label texts, 1 for each right one, else 0."""
        if model.multi_label:
            rows = [np.isin(model.labels, _labels(e)) for e in examples]
            return [row.astype("float32") for row in rows]
        index = {label: i for i, label in enumerate(model.labels)}
        return [index[example["label"]] for example in examples]

    def statistics(self, model, examples, results):
        """Whether a label is right; or of each label whether it is, is expected and predicted."""
        if not model.multi_label:
            if "labels" in examples[0]:
                raise ValueError("The head gives one label: examples need a `label`.")
            pairs = zip(examples, results, strict=True)
            return np.array([[example["label"] == label] for example, label in pairs])
        expected, predicted = (
            np.array([np.isin(model.labels, labels) for labels in rows])
            for rows in (map(_labels, examples), results)
        )
        return np.hstack([expected & predicted, expected, predicted])

    def scores(self, statistics):
        return label_scores(statistics)

    def parts(self, example, result=None):
        labels = _labels(example) if result is None else result
        if isinstance(labels, str) or "label" in example and result is None:
            return {"": labels if isinstance(labels, str) else labels[0]}
        return {label: label for label in labels}


def _labels(example):
    return example["labels"] if "labels" in example else [example["label"]]


def read_labelled(
    rows: Rows, source: str | Path, split: Tokenizer, fields: Mapping[str, str]
) -> list[dict]:
    """Examples with the tokens of some columns, under other names, and their labels.

    A `label` may be a list, as doccano has it; where all of these have one, it is the label.

    Args:
        rows: see `parse_all`.
        source: the name of the file, for errors.
        split: splits texts into tokens; lists of tokens stay.
        fields: column of a text → its name in the examples.
    """

    def parse(row):
        kind = "labels" if "labels" in row else "label"
        columns = ", ".join([*fields, kind])
        if missing := ", ".join(name for name in (*fields, kind) if name not in row):
            raise ValueError(f"the columns {columns} are expected. Missing: {missing}")
        example = {new: _tokens(row, name, split) for name, new in fields.items()}
        labels = row[kind]
        if kind == "label" and not isinstance(labels, list):
            return example | {kind: _label(labels)}
        if isinstance(labels, str):
            labels = labels.split(",") if labels.strip() else []
        if not isinstance(labels, list):
            raise ValueError(
                f"a list of labels is expected, not {shortened(labels):.80}"
            )
        lists.append(kind == "label" and len(labels) == 1)
        return example | {"labels": [_label(label) for label in labels]}

    lists: list[bool] = []
    examples = check_any(source, parse_all(source, rows, parse))
    if lists and all(lists):
        for example in examples:
            (example["label"],) = example.pop("labels", None) or [example["label"]]
    if len({"labels" in example for example in examples}) > 1:
        raise ValueError(
            f"{source} should have `label` in all lines, or `labels` in all."
        )
    return examples


def _tokens(row, name, split):
    return split(row[name]) if isinstance(row[name], str) else read_strings(row, name)


def _label(value):
    label = str(value).strip() if isinstance(value, (str, int)) else ""
    if not label:
        raise ValueError(f"a label is expected, not {shortened(value):.80}")
    return label


def label_scores(statistics: np.ndarray) -> dict[str, float]:
    """Accuracy of `(examples, 1)`, whether each is right; or F1 by label and over all.

    For several labels the columns are whether each label is right, is expected, and is
    predicted: `(examples, 3 · labels)`. F1 = 2 · right / (expected + predicted).
    """
    if statistics.shape[1] == 1:
        return {"accuracy": float(statistics.mean())}
    right, expected, predicted = np.split(statistics.sum(axis=0), 3)
    total = expected + predicted
    macro = np.mean(2 * right / np.maximum(total, 1))
    micro = 2 * right.sum() / max(1, total.sum())
    return {"macro F1": float(macro), "micro F1": float(micro)}


def predicted_labels(model: Labels, scores: np.ndarray) -> list:
    """The label of each text from `(texts, labels)`, or the list of those above the threshold."""
    if not model.multi_label:
        return [model.labels[i] for i in scores.argmax(axis=1)]
    return [
        [label for label, p in zip(model.labels, row) if p >= model.threshold]
        for row in scores.tolist()
    ]


def scored_labels(model: Labels, scores: np.ndarray) -> list:
    """The same as `predicted_labels`, but dicts with `label` and `score`, the likeliest first."""
    results = []
    for row in scores.tolist():
        pairs = sorted(zip(row, model.labels), reverse=True)
        labels = [{"label": label, "score": score} for score, label in pairs]
        above = [label for label in labels if label["score"] >= model.threshold]
        results.append(above if model.multi_label else labels[0])
    return results
