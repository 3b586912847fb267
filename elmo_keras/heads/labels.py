"""Labels of texts and of pairs: their files, scores and answers."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from elmo_keras.base.argument_checks import shortened
from elmo_keras.config import TokenizerName
from elmo_keras.heads.reading import check_any, parse_all, read_strings
from elmo_keras.heads.task import Task
from elmo_keras.text.tokenizers import TOKENIZERS
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

    def read_rows(self, rows, source):
        """A `label` may be a list, as doccano has it; where all have one, it is the label."""

        def parse(row):
            field = "labels" if "labels" in row else "label"
            columns = *self.row_fields, field
            if missing := ", ".join(name for name in columns if name not in row):
                raise ValueError(
                    f"the columns {', '.join(columns)} are expected. Missing: {missing}"
                )
            pairs = zip(self.text_fields, self.row_fields)
            example = {name: self._tokens(row, column) for name, column in pairs}
            return example | {field: _read_labels(row[field], field)}

        examples = check_any(source, parse_all(source, rows, parse))
        lists = [e for e in examples if isinstance(e.get("label"), list)]
        is_one = not any("labels" in example for example in examples)
        is_one = is_one and all(len(example["label"]) == 1 for example in lists)
        for example in lists:
            labels = example.pop("label")
            example |= {"label": labels[0]} if is_one else {"labels": labels}
        if len({"labels" in example for example in examples}) > 1:
            raise ValueError(
                f"{source} should have `label` in all lines, or `labels` in all."
            )
        return examples

    def _tokens(self, row, column):
        text = row[column]
        if not isinstance(text, str):
            return read_strings(row, column)
        return TOKENIZERS[self.split](text)

    def model_options(self, examples):
        labels = {label for example in examples for label in _labels(example)}
        return {"labels": sorted(labels), "multi_label": "labels" in examples[0]}

    def check(self, train, scored):
        if len(labels := {tuple(sorted(_labels(example))) for example in train}) < 2:
            names = " ".join(*labels) or "none"
            raise ValueError(f"train should have two labels or more. Found: {names}")
        firsts = [part[0] for part in scored.values() if part]
        if "label" in train[0] and any("labels" in example for example in firsts):
            raise ValueError("train has one label each, and dev or test several.")
        super().check(train, scored)

    def targets(self, examples, model):
        """The index of each label; of multi-label texts, 1 for each right one, else 0."""
        if model.multi_label:
            rows = [np.isin(model.labels, _labels(e)) for e in examples]
            return [row.astype("float32") for row in rows]
        index = {label: i for i, label in enumerate(model.labels)}
        return [index[example["label"]] for example in examples]

    def statistics(self, model, examples, results):
        """Whether the label is right; or whether each label is right, expected and predicted."""
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
        """Accuracy; or F1 = 2 · right / (expected + predicted) by label and over all."""
        if statistics.shape[1] == 1:
            return {"accuracy": float(statistics.mean())}
        right, expected, predicted = np.split(statistics.sum(axis=0), 3)
        total = expected + predicted
        macro = np.mean(2 * right / np.maximum(total, 1))
        micro = 2 * right.sum() / max(1, total.sum())
        return {"macro F1": float(macro), "micro F1": float(micro)}

    def parts(self, example, result=None):
        if result is None:
            result = example["label"] if "label" in example else example["labels"]
        if isinstance(result, str):
            return {"": result}
        return {label: label for label in result}


def _labels(example):
    return example["labels"] if "labels" in example else [example["label"]]


def _read_labels(value, field):
    if field == "labels" and isinstance(value, str):
        value = value.split(",") if value.strip() else []
    if isinstance(value, list):
        return [_read_label(label) for label in value]
    if field == "labels":
        raise ValueError(f"a list of labels is expected, not {shortened(value):.80}")
    return _read_label(value)


def _read_label(value):
    label = str(value).strip() if isinstance(value, (str, int)) else ""
    if not label:
        raise ValueError(f"a label is expected, not {shortened(value):.80}")
    return label


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


def without_scores(labels: Any) -> Any:
    """The label, or the list of labels, of a result of `scored_labels`."""
    if isinstance(labels, dict):
        return labels["label"]
    return [label["label"] for label in labels]
