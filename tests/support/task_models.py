"""Models of tasks under test, and the checks that all of them pass."""

import json
from types import SimpleNamespace

import tensorflow as tf

from elmo_keras import Elmo
from elmo_keras.heads import TokenVectors
from elmo_keras.text.tokens import padded_tokens
from tests.support.models import randomize
from tests.support.sizes import CONFIG

WORDS = ["ein", "zwei", "drei", "vier", "fünf", "sechs"]
SENTENCES = [["Ann", "met", "Bob", "."], ["She"], ["He", "saw", "her"]]
SPEAKERS = [["a"] * 4, ["b"], ["a"] * 3]


def token_vectors(elmo_at=None, words=WORDS[:4], endings=(), **elmo_arguments):
    """Small token vectors, with ELMo at a place or without."""
    elmo = None
    if elmo_at:
        n = 2 if elmo_at == "both" else 1
        elmo = Elmo(CONFIG, num_representations=n, **elmo_arguments)
    options = {"elmo": elmo, "elmo_at": elmo_at or "input", "endings": endings}
    return TokenVectors(words, 5, 4, dropout=0.0, **options)


def built(model):
    """The model with random weights; it runs eagerly, as tracing takes seconds."""
    model.run_eagerly = True
    model.build()
    return randomize(model)


class Scorer(SimpleNamespace):
    """The part of a model that the graphs of answers need, with given scores."""

    def __call__(self, inputs, training):
        return tf.nest.map_structure(tf.constant, self.scores)


def text_inputs(**fields):
    return {name: padded_tokens(texts) for name, texts in fields.items()}


def questions(*rows):
    """SQuAD's JSON of contexts, questions, and answers or None, found or with a place."""
    paragraphs = []
    for i, (context, question, answer, *place) in enumerate(rows):
        answers = []
        if answer is not None:
            start = place[0] if place else context.index(answer)
            answers.append({"text": answer, "answer_start": start})
        asked = {"id": str(i), "question": question, "answers": answers}
        asked["is_impossible"] = not answers
        paragraphs.append({"context": context, "qas": [asked]})
    return json.dumps({"data": [{"paragraphs": paragraphs}]})


def document(words, name="d"):
    """Lines of CoNLL-2012 from words with their entities; None ends a sentence."""
    lines = [w and f"{name} 0 0 {w[0]} X * - - - - * {w[1]}" for w in words]
    body = "\n".join(line or "" for line in lines)
    return f"#begin document ({name}); part 000\n{body}\n#end document\n"


def scores_of(task, model, examples, results):
    """The scores of what a model predicts, by name."""
    return task.scores(task.statistics(model, examples, results))
