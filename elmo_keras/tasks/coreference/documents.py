"""Documents of sentences as windows, and as what a model reads."""

from collections.abc import Mapping, Sequence

import tensorflow as tf

from elmo_keras.tasks.experiments.batches import Batches


def windows(document: Mapping, n_sentences: int) -> list[dict]:
    """A document in parts of so many sentences, each with what is within it.

    Args:
        document: as `read_conll_2012` gives it.
        n_sentences: of a part; the last one may have fewer.

    Returns:
        Documents whose mentions are counted over the part. A cluster of which a part
        has one mention only is left out there.
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
            "clusters": [cluster for cluster in within if len(cluster) > 1],
        }
        parts.append({**document, **part})
        begin = end
    return parts


def document_inputs(
    sentences: Sequence[Sequence[str]],
    speakers: Sequence[Sequence[str]] | None = None,
) -> dict[str, tf.Tensor]:
    """What a model reads of a document, see `Coreferent`.

    Raises:
        ValueError: there is no token, one is `""`, or not each has a speaker.
    """
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
    return {
        name: tf.ragged.constant([list(r) for r in rows], tf.string, 1).to_tensor()
        for name, rows in (("sentences", sentences), ("speakers", speakers))
    }


class DocumentBatches(Batches):
    """Batches of one document each, whose first axis are its sentences.

    See `Batches`; the text field holds lists of sentences, and `batch_size` is not
    used.
    """

    def __init__(
        self,
        examples,
        text_fields,
        number_fields=(),
        labels=None,
        cache=None,
        batch_size=1,
    ):
        super().__init__(examples, text_fields, number_fields, labels, cache, 1)

    @staticmethod
    def texts(examples, text_fields):
        """The sentences of all documents."""
        return [s for e in examples for field in text_fields for s in e[field]]

    def inputs(self, rows):
        (document,) = (self.examples[i] for i in rows)
        inputs = document_inputs(document["sentences"], document["speakers"])
        if self.cache is not None:
            layers = self.cache(document["sentences"])
            inputs["sentences_layers"] = tf.constant(layers)
        return inputs
