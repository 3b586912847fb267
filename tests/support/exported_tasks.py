"""Small models of all tasks that are exported, with their texts and answers."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from elmo_keras.heads import QuestionAnswering
from tests.support.heads import MAKERS, SPANS
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
NER_TAGS = SPANS


class ExportedTask(NamedTuple):
    """A kind of model, requests for its signatures, and its own answers."""

    kind: str  # a key of `MAKERS`
    texts: dict[str, list]  # the inputs of `default`
    output: str  # the output with the answers
    seed: int = 0  # seed of weights whose answers differ

    def model(self):
        """A model with large random weights."""
        if self.kind == "qa":
            options = {"unanswerable": True, "endings": ["에서", "서", "i", "n"]}
            model = QuestionAnswering(token_vectors(), units=3, **options)
        else:
            model = MAKERS[self.kind](token_vectors())
        return randomize(built(model), self.seed, scale=2.0)

    def answers(self, model) -> list:
        """The result of the model's own method."""
        if self.output == "answer":
            rows = zip(*self.texts.values())
            inputs = ({"context": [c], "question": [q]} for c, q in rows)
            return [
                model.predict(row)[0] if row["context"][0].strip() else ""
                for row in inputs
            ]
        inputs = {
            n: x if n == "predicate" else tokens_of(x) for n, x in self.texts.items()
        }
        if "sentences" in inputs:
            inputs["tokens"] = inputs.pop("sentences")
        return model.predict(inputs)

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
        """The result of an export, in the form of the model's method."""
        rows = np.vectorize(bytes.decode, otypes=[object])(outputs[self.output])
        if self.output == "tags":
            return [tags[:n].tolist() for tags, n in zip(rows, outputs["sequence_len"])]
        if self.output == "predicted_labels":
            return [[label for label in row if label] for row in rows]
        return rows.tolist()


def padded(texts, width=9):
    ragged = tf.ragged.constant(tokens_of(texts), tf.string)
    return ragged.to_tensor("", shape=(None, width)).numpy()


def tokens_of(texts):
    """The tokens of texts that are split at spaces."""
    return [text.split() for text in texts]


TEXTS = {"sentences": SENTENCES}
REAL = [text for text in SENTENCES if text]  # a predicate needs a token
ROLES = {"sentences": REAL, "predicate": [1, 0, 5]}
PAIRS = {"premise": SENTENCES, "hypothesis": OTHERS}
ASKED = {"context": CONTEXTS, "question": QUESTIONS}
TASKS = {
    "ner": ExportedTask("ner", TEXTS, "tags"),
    "srl": ExportedTask("srl", ROLES, "tags", seed=1),
    "classify": ExportedTask("sentiment", TEXTS, "label", seed=1),
    "multi_label": ExportedTask("emotions", TEXTS, "predicted_labels", seed=3),
    "entail": ExportedTask("entail", PAIRS, "label"),
    "qa": ExportedTask("qa", ASKED, "answer", seed=3),
}


def constants(inputs):
    """The inputs as tensors."""
    return {name: tf.constant(values) for name, values in inputs.items()}
