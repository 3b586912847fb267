"""Coreference of texts."""

from typing import Any

from elmo_keras.base.argument_checks import warn
from elmo_keras.embed.embedder import Embedder
from elmo_keras.heads.coreference.decoding import find_clusters, mention_scores
from elmo_keras.heads.pipeline import Pipeline
from elmo_keras.heads.texts import join, pieces
from elmo_keras.heads.token_batch import TokenBatch

MAX_LINKED = 4000  # tokens of a part, whose last sentence may be longer
MAX_SENTENCE = 250  # tokens
MAX_PADDED = 2**16  # tokens of a part, with padding


class CoreferencePipeline(Pipeline):
    """The entities of a text: a list of clusters, each a list of mentions.

    The score of a mention is the probability that it refers to the same thing as another
    one of its cluster.
    """

    batch_size = 1  # each part of a text is a batch

    def __init__(
        self, name: str, model: Any, *, embedder: Embedder | None = None, **options: Any
    ):
        super().__init__(name, model, **options)
        self._embedder = embedder  # reads the sentences of a part

    def split(self, text):
        sentences = [piece for s in text.sentences for piece in pieces(s, MAX_SENTENCE)]
        parts = list(_bounded_parts(sentences))
        if len(parts) > 1 or len(sentences) > len(text.sentences):
            warn(
                f"{self.name} links mentions within parts of about {MAX_LINKED:,} "
                f"tokens, and reads sentences in pieces of {MAX_SENTENCE}.",
            )
        return parts

    def predict(self, batch):
        """The number of tokens of each part, and its clusters of (mention, score)."""
        predictions = []
        for sentences in batch.sentences:
            clusters = []
            if sentences:
                scores = self._scores({"sentences": sentences})
                clusters = find_clusters(scores, self.model.singletons)
                likely = mention_scores(scores, clusters)
                clusters = [[(x, likely[x]) for x in sorted(c)] for c in clusters]
            predictions.append((sum(map(len, sentences)), clusters))
        return predictions

    def _scores(self, document):
        """The outputs of `CoreferenceModel` for a document."""
        if self._embedder is None:
            return self.model.example_scores(self.model.batches([document]))[0]
        sentences = document["sentences"]
        batch = TokenBatch(sentences, self._embedder.stream(sentences))
        return self.model.scores(batch, document.get("speakers"))

    def annotate(self, text, predictions):
        spans, results, before = join(text.spans), [], 0
        for n_tokens, clusters in predictions:
            for cluster in clusters:
                mentions = [
                    text.at(spans[before + a][0], spans[before + b][1], score=score)
                    for (a, b), score in cluster
                ]
                results.append(mentions)
            before += n_tokens
        return results

    def predict_examples(self, examples):
        """The clusters of each document, read as a whole."""
        scores = map(self._scores, examples)
        return [find_clusters(document, self.model.singletons) for document in scores]


def _bounded_parts(sentences):
    """Sentences in parts of `MAX_LINKED` tokens, or fewer if much of them is padding."""
    part, n_tokens, longest = [], 0, 0
    for sentence in sentences:
        longest = max(longest, len(sentence))
        if part and (n_tokens >= MAX_LINKED or (len(part) + 1) * longest > MAX_PADDED):
            yield part
            part, n_tokens, longest = [], 0, len(sentence)
        part.append(sentence)
        n_tokens += len(sentence)
    if part:
        yield part
