"""Parts of speech, entities and semantic roles of texts."""

from typing import Any

from elmo_keras.heads.head import PREDICATES, read_card, read_head
from elmo_keras.heads.pipeline import Pipeline
from elmo_keras.heads.tagger.entities import PREDICATE, bio_tags
from elmo_keras.heads.tagger.light import LightTagger
from elmo_keras.heads.texts import Text


class WordPipeline(Pipeline):
    """A list of words with their labels, such as parts of speech."""

    type = "words"

    @property
    def labels(self) -> list[str]:
        return self.model.decoder.labels

    def predict(self, batch):
        """The labelled tokens of each sentence."""
        scores = self.model.scores(batch)
        return self.model.decoder.label(scores, batch.lengths, batch.sentences)

    def annotate(self, text, predictions):
        return [text.result(i, p) for i, row in enumerate(predictions) for p in row]

    def as_labels(self, predictions):
        return [word.label for row in predictions for word in row]


class EntityPipeline(WordPipeline):
    """A list of the spans of a text that tags mark, such as named entities."""

    type = "entities"

    def annotate(self, text, predictions):
        return [text.entity(i, p) for i, row in enumerate(predictions) for p in row]

    def predict_examples(self, examples):
        rows = super().predict_examples(examples)
        return [bio_tags(row, len(e["tokens"])) for row, e in zip(rows, examples)]

    def as_labels(self, predictions):
        return [(p.first, p.end, p.label) for row in predictions for p in row]


class RolePipeline(Pipeline):
    """Semantic roles: for each predicate of a text a dict of `predicate` and `roles`."""

    type = "roles"

    def __init__(self, name: str, model: Any, **options: Any):
        super().__init__(name, model, **options)
        if self.folder is None or self.embedder is None:
            raise ValueError(
                f"{name} labels the roles of given predicates. Make a head of it, with "
                f"one that finds predicates in its folder {PREDICATES}: see `save_head`."
            )
        finder = read_head(self.folder / PREDICATES)
        if finder.card.digest != read_card(self.folder).digest:
            raise ValueError("Its two heads have different language models.")
        self.predicates = LightTagger(finder)

    @property
    def labels(self) -> list[str]:
        return self.model.decoder.labels

    def predict(self, batch):
        """The frames of each sentence: its predicates, each with its roles."""
        finder = self.predicates
        rows = finder.decoder.label(finder.scores(batch), batch.lengths)
        predicates = [(i, span) for i, spans in enumerate(rows) for span in spans]
        positions = [(i, predicate.first) for i, predicate in predicates]
        frames = [[] for _ in batch.sentences]
        for (i, predicate), spans in zip(predicates, self._roles(batch, positions)):
            roles = [role for role in spans if role.label != PREDICATE]
            frames[i].append((predicate, roles))
        return frames

    def _roles(self, batch, positions):
        """Yields the spans of each predicate."""
        windows = self.model.scores_of_predicates(batch, positions)
        for scores, lengths, starts in windows:
            rows = self.model.decoder.label(scores, lengths)
            for start, spans in zip(starts.tolist(), rows):
                yield [
                    s._replace(first=s.first + start, end=s.end + start) for s in spans
                ]

    def annotate(self, text: Text, predictions):
        return [
            {
                "predicate": text.result(i, predicate),
                "roles": [text.result(i, role) for role in roles],
            }
            for i, frames in enumerate(predictions)
            for predicate, roles in frames
        ]

    def predict_examples(self, examples):
        """The tags of each example for its predicate."""
        batch = self.batch([example["tokens"] for example in examples])
        positions = [(i, e["predicate"].index(1)) for i, e in enumerate(examples)]
        return [
            bio_tags([(s.first, s.end, s.label) for s in spans], len(e["tokens"]))
            for e, spans in zip(examples, self._roles(batch, positions))
        ]
