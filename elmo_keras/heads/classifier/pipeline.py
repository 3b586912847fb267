"""Labels of texts."""

from elmo_keras.base.argument_checks import warn
from elmo_keras.heads.labels import scored_labels, without_scores
from elmo_keras.heads.pipeline import Pipeline
from elmo_keras.heads.texts import join

MAX_TOKENS = 1000  # further tokens of a text are not read


class LabelPipeline(Pipeline):
    """The label of a text, or a list of labels if it may have several."""

    def split(self, text):
        tokens = join(text.sentences)
        if len(tokens) > MAX_TOKENS:
            warn(f"{self.name} reads the first {MAX_TOKENS:,} tokens of a text.")
        return [tokens[:MAX_TOKENS]]

    def predict(self, batch):
        """The label of each text, or its labels, with their scores."""
        return scored_labels(self.model, self.model.scores(batch))

    def annotate(self, text, predictions):
        (labels,), end = predictions, len(text.source)
        if isinstance(labels, dict):
            return text.at(0, end, **labels)
        return [text.at(0, end, **label) for label in labels]

    def as_labels(self, predictions):
        return without_scores(*predictions)
