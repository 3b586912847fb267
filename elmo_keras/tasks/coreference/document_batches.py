"""Documents as inputs and batches of a model."""

from collections.abc import Sequence

import tensorflow as tf

from elmo_keras.tasks.batches import Batches
from elmo_keras.text.token_batches import padded_tokens


def document_inputs(
    sentences: Sequence[Sequence[str]], speakers: Sequence[Sequence[str]] | None = None
) -> dict[str, tf.Tensor]:
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
    """Batches of one document, with its sentences along the first axis."""

    def inputs(self, rows):
        (document,) = (self.examples[i] for i in rows)
        inputs = document_inputs(document["sentences"], document["speakers"])
        if self.cache is not None:
            layers = self.cache(document["sentences"])
            inputs["sentences_layers"] = tf.constant(layers)
        return inputs
