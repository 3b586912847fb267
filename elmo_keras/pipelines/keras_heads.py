"""Task models of Keras as heads, by TensorFlow; their biLM is in them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from elmo_keras.pipelines.light_heads import Tags
from elmo_keras.pipelines.texts import Labelled
from elmo_keras.tasks.tagger import Tagger
from elmo_keras.tasks.task_model import LabelModel, TaskModel
from elmo_keras.text.length_batches import length_batches, map_batches
from elmo_keras.text.tokens import padded_tokens

MAX_POSITIONS = 2**13  # of a batch with its padding


def answers_to(
    model: TaskModel,
    texts: Sequence[Sequence[Sequence[str]]],
    answer: Callable[..., Mapping[str, Any]] | None = None,
) -> list:
    """What `model.answers` gives for each example: name → array, padding included.

    `texts` are the tokens of each of the model's fields, none of them empty; `answer`
    is called in place of `model.answers`.
    """

    def compute(rows):
        inputs = {
            field: padded_tokens([column[i] for i in rows])
            for field, column in zip(model.text_fields, texts)
        }
        outputs = (answer or model.answers)(inputs)
        batch = {name: np.asarray(x) for name, x in outputs.items()}
        for row in range(len(rows)):
            yield {name: array[row] for name, array in batch.items()}

    lengths = [max(map(len, example)) for example in zip(*texts)]
    return map_batches(
        compute, length_batches(lengths, max_tokens=MAX_POSITIONS, max_sentences=64)
    )


class KerasTagger:
    """A `Tagger` that tags as a `LightTagger` does, without predicates."""

    def __init__(self, model: Tagger):
        self.tags, self._model = list(model.tags), model

    def tag(
        self, sentences: Sequence[Sequence[str]], layers: None = None
    ) -> list[Tags]:
        answers = answers_to(self._model, [sentences])
        return [_tags(x, len(tokens)) for x, tokens in zip(answers, sentences)]


def _tags(answer, n_tokens):
    count = int(answer.get("span_count", 0))
    names = "span_types", "span_begins", "span_ends", "span_scores"
    columns = [answer[name][:count].tolist() for name in names] if count else []
    return Tags(
        [tag.decode() for tag in answer["tags"][:n_tokens]],
        answer["scores"][:n_tokens].tolist(),
        [Labelled(name.decode(), *place) for name, *place in zip(*columns)],
    )


class KerasClassifier:
    """A model of labels that classifies as a `LightClassifier` does."""

    def __init__(self, model: LabelModel):
        self.labels, self.multi_label = list(model.labels), model.multi_label
        self.threshold = model.threshold
        self._model = model

    def probabilities(
        self, texts: Sequence[Sequence[str]], layers: None = None
    ) -> np.ndarray:
        return np.array([x["scores"] for x in answers_to(self._model, [texts])])
