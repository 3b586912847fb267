"""Turns examples into the batches of `model.fit`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from elmo_keras.text.length_batches import (
    length_batches,
    padded_arrays,
    shuffled_batches,
)
from elmo_keras.text.tokens import padded_tokens

MAX_PAIRS = 2**25  # pairs of tokens that a batch compares
PADDING = -1  # pads labels


class ExampleBatches:
    """Padded batches of examples of similar length.

    The examples' `text_fields` hold lists of tokens; field F becomes the input F, and
    with a `cache` also `F_layers`. `integer_fields` hold lists of integers, padded with 0.
    `labels`, needed for training only, are an array or a number for each example, padded
    with −1.

    If the model compares each token with all others, a batch holds fewer examples of more
    than 1,024 tokens, one from 4,097 on, as memory grows with the square of the length.
    """

    def __init__(
        self,
        examples: Sequence[Mapping],
        text_fields: Sequence[str],
        integer_fields: Sequence[str] = (),
        *,
        labels: Sequence | None = None,
        cache: Callable[[Sequence[Sequence[str]]], np.ndarray] | None = None,
        batch_size: int = 32,
        compares_tokens: bool = False,
    ):
        self.examples, self.labels, self.cache = examples, labels or (), cache
        self.text_fields, self.integer_fields = text_fields, integer_fields
        max_pairs = MAX_PAIRS if compares_tokens else np.inf
        self._limits: Any = {"max_tokens": max_pairs, "max_sentences": batch_size}
        lengths = [sum(len(e[field]) for field in text_fields) for e in examples]
        self._pairs = np.square(lengths)

    def shuffled(self, seed: int, epoch: int) -> tf.data.Dataset:
        """The `(inputs, labels)` of an epoch, in the order of this seed and epoch."""
        rng = np.random.default_rng([seed, epoch])
        batches = shuffled_batches(self._pairs, rng, **self._limits)
        labels = self.targets([0])
        spec = tf.TensorSpec((None,) * labels.shape.rank, labels.dtype)
        return generated(
            lambda: ((self.inputs(rows), self.targets(rows)) for rows in batches),
            (open_shapes(self.inputs([0])), spec),
            len(batches),
        )

    def by_length(self) -> list[list[int]]:
        return length_batches(self._pairs, **self._limits)

    def inputs(self, rows: Sequence[int]) -> dict[str, tf.Tensor]:
        examples = [self.examples[i] for i in rows]
        inputs = {}
        for field in self.text_fields:
            texts = [example[field] for example in examples]
            inputs[field] = padded_tokens(texts)
            if self.cache is not None:
                inputs[f"{field}_layers"] = tf.constant(self.cache(texts))
        for field in self.integer_fields:
            arrays = [np.array(example[field], np.int32) for example in examples]
            inputs[field] = tf.constant(padded_arrays(arrays, 0))
        return inputs

    def targets(self, rows: Sequence[int]) -> tf.Tensor:
        labels = [np.asarray(self.labels[i]) for i in rows]
        dtype = np.float32 if labels[0].dtype.kind == "f" else np.int32
        labels = [label.astype(dtype) for label in labels]
        return tf.constant(padded_arrays(labels, PADDING))


def generated(
    batches: Callable[[], Iterable], signature: Any, n_batches: int
) -> tf.data.Dataset:
    """Batches as a data set, two of them computed ahead."""
    dataset = tf.data.Dataset.from_generator(batches, output_signature=signature)
    counted = dataset.apply(tf.data.experimental.assert_cardinality(n_batches))
    untuned = tf.data.Options()  # the tuner delays the end of an epoch
    untuned.autotune.enabled = False
    return counted.prefetch(2).with_options(untuned)


def open_shapes(inputs: Mapping[str, tf.Tensor]) -> dict[str, tf.TensorSpec]:
    """Specs of the fields of batches of any size, so that one graph reads all of them."""

    def spec(name, tensor):
        shape = [None] * tensor.shape.rank
        if name.endswith("_layers"):
            shape = [None, tensor.shape[1], None, tensor.shape[3]]
        return tf.TensorSpec(shape, tensor.dtype)

    return {name: spec(name, tensor) for name, tensor in inputs.items()}
