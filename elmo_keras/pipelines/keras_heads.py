"""Task models of Keras as heads, by TensorFlow; their biLM is in them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from elmo_keras.pipelines.light_heads import Batch, TaggerHead
from elmo_keras.tasks.batches import Batches, predictions
from elmo_keras.tasks.crf import Crf
from elmo_keras.tasks.tagger import Tagger
from elmo_keras.tasks.task_model import LabelModel, TaskModel


def answers_to(
    model: TaskModel,
    texts: Sequence[Sequence[Sequence[str]]],
    answer: Callable[..., Mapping[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    """What `model.answers` gives for each example: name → array, padding included.

    `texts` are the tokens of each of the model's fields; `answer` is called in place of
    `model.answers`.
    """

    def rows(inputs):
        outputs = (answer or model.answers)(inputs)
        columns = {name: np.asarray(x) for name, x in outputs.items()}
        return [dict(zip(columns, row)) for row in zip(*columns.values())]

    examples = [dict(zip(model.text_fields, tokens)) for tokens in zip(*texts)]
    return predictions(rows, Batches(examples, model.text_fields, compares_tokens=True))


class KerasTagger(TaggerHead):
    """A `Tagger` without predicates."""

    def __init__(self, model: Tagger):
        self.tags, self._model = list(model.tags), model
        if model.crf is not None:
            weights = model.crf.weights_in("float32").only(model.crf.allowed)
            self.crf = Crf(*(np.asarray(weight) for weight in weights))

    def scores(self, batch):
        def rows(inputs):
            return np.asarray(self._model(inputs, training=False), np.float32)

        examples = [{"tokens": sentence} for sentence in batch.sentences]
        batches = Batches(examples, ["tokens"], compares_tokens=True)
        pairs = zip(predictions(rows, batches), batch.lengths)
        return np.concatenate([scores[:n] for scores, n in pairs])


class KerasClassifier:
    """A model of labels."""

    def __init__(self, model: LabelModel):
        self.labels, self.multi_label = list(model.labels), model.multi_label
        self.threshold = model.threshold
        self._model = model

    def probabilities(self, batch: Batch) -> np.ndarray:
        """Of each label, `(sentences, labels)`."""
        return np.array(
            [x["scores"] for x in answers_to(self._model, [batch.sentences])]
        )
