"""What recorded runs predict for the examples that gave their scores."""

from collections.abc import Sequence

import keras

from elmo_keras.tasks.experiments.batches import predictions
from elmo_keras.tasks.experiments.examples import read_data
from elmo_keras.tasks.experiments.experiment_arguments import ExperimentOptions
from elmo_keras.tasks.experiments.experiment_output import model_file
from elmo_keras.tasks.experiments.task import Task
from elmo_keras.tasks.experiments.variants import Variant


class ScoredRuns:
    """The models of an experiment, and the examples that they are scored on.

    Args:
        task: the task.
        options: the options of its command.

    Attributes:
        examples: those of `--test`, or else the held-out ones.
    """

    def __init__(self, task: Task, options: ExperimentOptions):
        self._task, self._options = task, options
        data = read_data(task, options)
        self.examples = data.test or data.dev

    def model(self, variant: Variant, seed: int) -> keras.Model:
        """The trained model of a run."""
        path = self._options.output / model_file(variant.name, seed)
        return keras.models.load_model(path, compile=False)

    def predictions(self, model: keras.Model) -> list:
        """What a model predicts for each example, in their order."""
        fields = self._task.text_fields, self._task.number_fields
        size = self._options.batch_size
        batches = self._task.batches(self.examples, *fields, batch_size=size)
        return predictions(model, batches)

    def score(self, model: keras.Model, predicted: Sequence) -> float:
        """The first score of predictions by this model, or by one of the same labels."""
        scores = self._task.scores(model, self.examples, predicted)
        return float(next(iter(scores.values())))
