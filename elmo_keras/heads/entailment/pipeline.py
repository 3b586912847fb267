"""The relation of a hypothesis to a premise."""

from elmo_keras.heads.labels import scored_labels, without_scores
from elmo_keras.heads.pair_pipeline import PairPipeline
from elmo_keras.heads.texts import join, read_text
from elmo_keras.heads.token_batch import TokenBatch


class EntailmentPipeline(PairPipeline):
    """The label of `premise` and `hypothesis`, or a list of labels if there may be several."""

    fields = "premise", "hypothesis"

    def answer(self, pairs):
        columns = ([join(text.sentences) for text in texts] for texts in zip(*pairs))
        return scored_labels(self.model, self.model.scores(*map(TokenBatch, columns)))

    def predict_examples(self, examples):
        pairs = [[read_text(0, e[field]) for field in self.fields] for e in examples]
        return [*map(without_scores, self.answer(pairs))]
