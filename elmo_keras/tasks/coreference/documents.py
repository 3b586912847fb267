"""Documents as windows, as the inputs of a model, and as the batches of `model.fit`."""

from collections.abc import Iterable, Mapping, Sequence

import tensorflow as tf

from elmo_keras.tasks.experiments.batches import Batches
from elmo_keras.text.token_batches import padded_tokens


def without_singletons(document: Mapping) -> dict:
    clusters = [cluster for cluster in document["clusters"] if len(cluster) > 1]
    return {**document, "clusters": clusters}


def has_singletons(documents: Iterable[Mapping]) -> bool:
    return any(len(c) == 1 for document in documents for c in document["clusters"])


def windows(
    document: Mapping, n_sentences: int, singletons: bool = False
) -> list[dict]:
    """A document cut into parts of `n_sentences`, each with the clusters within it.

    Mentions are counted from the start of the part. Only with `singletons`, a cluster
    with a single mention in a part is kept.
    """
    parts, begin = [], 0
    for i in range(0, len(document["sentences"]), n_sentences):
        sentences = document["sentences"][i : i + n_sentences]
        end = begin + sum(map(len, sentences))
        within = [
            [(a - begin, b - begin) for a, b in cluster if begin <= a < end]
            for cluster in document["clusters"]
        ]
        part = {
            "sentences": sentences,
            "speakers": document["speakers"][i : i + n_sentences],
            "clusters": [cluster for cluster in within if cluster],
        }
        part = {**document, **part}
        parts.append(part if singletons else without_singletons(part))
        begin = end
    return parts


def document_inputs(
    sentences: Sequence[Sequence[str]],
    speakers: Sequence[Sequence[str]] | None = None,
) -> dict[str, tf.Tensor]:
    """The inputs of `Coreferent`; see `Coreferent.resolve`."""
    if speakers is None:
        speakers = [[""] * len(sentence) for sentence in sentences]
    lengths, turns = ([len(row) for row in rows] for rows in (sentences, speakers))
    n_empty = sum(token == "" for sentence in sentences for token in sentence)
    if not sum(lengths) or lengths != turns or n_empty:
        raise ValueError(
            "`sentences` should hold tokens, and `speakers` a text for each. Received: "
            f"{lengths} tokens in the sentences, {n_empty} of them empty, and {turns} "
            "speakers"
        )
    return {"sentences": padded_tokens(sentences), "speakers": padded_tokens(speakers)}


class DocumentBatches(Batches):
    """Batches of one document each, with its sentences along the first axis.

    See `Batches`. The text field holds lists of sentences; `batch_size` is not used.
    """

    def __init__(self, examples, text_fields, number_fields=(), **options):
        super().__init__(
            examples, text_fields, number_fields, **options | {"batch_size": 1}
        )

    @staticmethod
    def texts(examples, text_fields):
        return [s for e in examples for field in text_fields for s in e[field]]

    def inputs(self, rows):
        (document,) = (self.examples[i] for i in rows)
        inputs = document_inputs(document["sentences"], document["speakers"])
        if self.cache is not None:
            layers = self.cache(document["sentences"])
            inputs["sentences_layers"] = tf.constant(layers)
        return inputs
