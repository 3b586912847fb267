"""Small models of all tasks that are exported, with their texts and answers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from elmo_keras.heads import (
    ESIM,
    QuestionAnswering,
    Tagger,
    TextClassifier,
)
from elmo_keras.heads.model import TaskModel
from tests.support.models import randomize
from tests.support.task_models import built, token_vectors

SENTENCES = ["ein Satz mit Wörtern", "zwei", "", "drei vier 한국어 🙂 ein zwei"]
OTHERS = ["noch ein Satz", "zwei vier", "leer", "ein"]
CONTEXTS = [
    "Ann zog nach Rom.",
    "서울에서 만났다, 그리고 부산으로",
    " ",
    "zwei (drei) vier",
]
QUESTIONS = ["Wer?", "어디?", "Was?", "Wieviel ein?"]
BIO = ["B-ORT", "B-PER", "I-ORT", "I-PER", "O"]


class ExportedTask(NamedTuple):
    """A model, requests for its signatures, and its own answers."""

    model: Callable[[], TaskModel]
    texts: dict[str, list]  # the inputs of `default`
    answers: Callable[[TaskModel], Any]  # of the model's own method
    output: str  # that holds them

    def tokens(self) -> dict:
        """The inputs of `tokens`, with columns beyond the longest text."""
        if self.output == "answer":
            return {}  # it has no such signature
        inputs = dict(self.texts)
        if "sentences" not in inputs:
            return {n: padded(x, 7 + i) for i, (n, x) in enumerate(inputs.items())}
        texts = inputs.pop("sentences")
        lengths = np.array([len(text.split()) for text in texts], "int32")
        return inputs | {"tokens": padded(texts), "sequence_len": lengths}

    def decode(self, outputs: dict) -> list:
        """What an export gives, in the form of the model's method."""
        if self.output == "head":
            lengths = outputs["sequence_len"]
            return [
                {
                    name: [
                        x if name == "head" else x.decode()
                        for x in outputs[name][i, :n]
                    ]
                    for name in ("head", "deprel", "upos", "lemma")
                }
                for i, n in enumerate(lengths)
            ]
        rows = np.vectorize(bytes.decode, otypes=[object])(outputs[self.output])
        if self.output == "tags":
            return [tags[:n].tolist() for tags, n in zip(rows, outputs["sequence_len"])]
        if self.output == "predicted_labels":
            return [[label for label in row if label] for row in rows]
        return rows.tolist()


def padded(texts, width=9):
    ragged = tf.ragged.constant(tokens_of(texts), tf.string)
    return ragged.to_tensor("", shape=(None, width)).numpy()


def _built(model, seed=0):
    """A model with large random weights, of a seed whose answers differ."""
    return randomize(built(model), seed, scale=2.0)


def tokens_of(texts):
    """The tokens of texts that are split at spaces."""
    return [text.split() for text in texts]


def _tagger(crf=True, **options):
    model = Tagger(token_vectors(), tags=BIO, units=3, crf=crf, **options)
    return _built(model, seed=0 if crf else 1)


def _classifier(seed, *labels, **options):
    model = TextClassifier(token_vectors(), labels=[*labels], units=3, **options)
    return _built(model, seed)


def _answered(model):
    pairs = zip(CONTEXTS, QUESTIONS)
    return [
        model.predict({"context": [c], "question": [q]})[0] if c.strip() else ""
        for c, q in pairs
    ]


def _predicted(model):
    return model.predict(tokens_of(SENTENCES))


REAL = [text for text in SENTENCES if text]  # a predicate needs a token
TASKS = {
    "ner": ExportedTask(_tagger, {"sentences": SENTENCES}, _predicted, "tags"),
    "srl": ExportedTask(
        lambda: _tagger(crf=False, predicate_dim=2),
        {"sentences": REAL, "predicate": [1, 0, 5]},
        lambda model: model.predict(
            {"tokens": tokens_of(REAL), "predicate": [1, 0, 5]}
        ),
        "tags",
    ),
    "classify": ExportedTask(
        lambda: _classifier(1, "gut", "schlecht"),
        {"sentences": SENTENCES},
        _predicted,
        "label",
    ),
    "multi_label": ExportedTask(
        lambda: _classifier(3, "a", "b", "c", multi_label=True),
        {"sentences": SENTENCES},
        _predicted,
        "predicted_labels",
    ),
    "entail": ExportedTask(
        lambda: _built(ESIM(token_vectors(), labels=["nein", "ja"], units=3)),
        {"premise": SENTENCES, "hypothesis": OTHERS},
        lambda model: model.predict(
            {"premise": tokens_of(SENTENCES), "hypothesis": tokens_of(OTHERS)}
        ),
        "label",
    ),
    "qa": ExportedTask(
        lambda: _built(
            QuestionAnswering(
                token_vectors(),
                unanswerable=True,
                units=3,
                endings=["에서", "서", "i", "n"],
            ),
            3,
        ),
        {"context": CONTEXTS, "question": QUESTIONS},
        _answered,
        "answer",
    ),
}


def constants(inputs):
    """The inputs as tensors."""
    return {name: tf.constant(values) for name, values in inputs.items()}
