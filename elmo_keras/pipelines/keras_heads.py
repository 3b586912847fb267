"""Task models of Keras as heads, by TensorFlow; their biLM is in them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from elmo_keras.pipelines.light_heads import Batch, TaggerHead
from elmo_keras.pipelines.light_networks import Scores
from elmo_keras.tasks.answering import QuestionAnswering
from elmo_keras.tasks.batches import Batches, predictions
from elmo_keras.tasks.crf import Crf
from elmo_keras.tasks.parser import DependencyParser
from elmo_keras.tasks.tagger import Tagger
from elmo_keras.tasks.task_model import LabelModel, TaskModel


class _Graph:
    """What a function of a model's inputs gives for each example: name → array.

    `texts` of a call are the tokens of each of the model's fields; arrays keep their padding.
    """

    def __init__(self, model: TaskModel, function: Callable[..., Mapping[str, Any]]):
        self._fields = model.text_fields
        self._run = tf.function(function, reduce_retracing=True, autograph=False)

    def __call__(self, *texts: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
        examples = [dict(zip(self._fields, tokens)) for tokens in zip(*texts)]
        batches = Batches(examples, self._fields, compares_tokens=True)
        return predictions(self._rows, batches)

    def _rows(self, inputs):
        columns = {name: np.asarray(x) for name, x in self._run(inputs).items()}
        return [dict(zip(columns, row)) for row in zip(*columns.values())]


class KerasTagger(TaggerHead):
    """A `Tagger` without predicates."""

    def __init__(self, model: Tagger):
        self.tags = list(model.tags)
        self._graph = _Graph(model, lambda x: {"scores": model(x, training=False)})
        if model.crf is not None:
            weights = model.crf.weights_in("float32").only(model.crf.allowed)
            self.crf = Crf(*(np.asarray(weight) for weight in weights))

    def scores(self, batch):
        rows = zip(self._graph(batch.sentences), batch.lengths)
        return np.concatenate([row["scores"][:n] for row, n in rows], dtype=np.float32)


class KerasParser:
    def __init__(self, model: DependencyParser):
        self.relations, self.columns = list(model.relations), dict(model.labels)
        self.follows_guidelines = model.follows_guidelines
        self._model = model

    def parse(self, batch: Batch) -> list[dict[str, list]]:
        """The columns of each sentence, see `trees`."""
        return self._model.predict([*batch.sentences])


class KerasClassifier:
    """A model of labels, of one text or of a pair."""

    def __init__(self, model: LabelModel):
        self.labels, self.multi_label = list(model.labels), model.multi_label
        self.threshold = model.threshold
        self._graph = _Graph(model, model.answers)

    def probabilities(self, *batches: Batch) -> np.ndarray:
        """Of each label, `(texts, labels)`; of pairs with a batch for each field."""
        rows = self._graph(*(batch.sentences for batch in batches))
        return np.array([row["scores"] for row in rows])


class KerasAnswerer:
    def __init__(self, model: QuestionAnswering):
        self.endings, self.longest_answer = model.endings, model.longest_answer
        self.unanswerable = model.unanswerable
        names = "starts", "ends", "none"
        self._graph = _Graph(
            model, lambda x: dict(zip(names, model(x, training=False)))
        )

    def scores(self, contexts: Batch, questions: Batch) -> list[Scores]:
        """As those of `LightAnswerer`."""
        rows = self._graph(contexts.sentences, questions.sentences)
        return [
            (row["starts"][:n], row["ends"][:n], row["none"])
            for row, n in zip(rows, contexts.lengths)
        ]
