"""From examples to the batches of `model.fit`."""

from collections.abc import Mapping, Sequence

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.tasks.experiments.layer_cache import LayerCache

BATCHES_SORTED_TOGETHER = 32
PADDING = -1  # of labels


class Batches:
    """Examples as padded batches, those of like length together.

    Args:
        examples: mappings of fields.
        text_fields: the fields that hold lists of tokens. Field F becomes the input
            F, strings `(batch, time)` padded with `""`.
        number_fields: further fields for the model, of those that the examples have:
            numbers or nested lists of numbers, padded with 0.
        labels: one for each example, an array or a mapping of arrays, which may
            differ in their sizes and are padded with −1; None for prediction only.
        cache: has the layers of the texts, which become the input `F_layers`; None
            where the model computes them.
        batch_size: examples of a batch.

    Example:

    >>> batches = Batches([{"words": ["a", "b"]}, {"words": ["c"]}], ["words"])
    >>> batches.inputs([1, 0])["words"].numpy().tolist()
    [[b'c', b''], [b'a', b'b']]
    """

    def __init__(
        self,
        examples: Sequence[Mapping],
        text_fields: Sequence[str],
        number_fields: Sequence[str] = (),
        labels: Sequence | None = None,
        cache: LayerCache | None = None,
        batch_size: int = 32,
    ):
        self.examples = examples
        self.text_fields = text_fields
        has = examples[0] if examples else ()
        self.number_fields = [field for field in number_fields if field in has]
        self.labels = labels
        self.cache = cache
        self.batch_size = batch_size
        self._lengths = np.array(
            [sum(len(example[field]) for field in text_fields) for example in examples]
        )

    @staticmethod
    def texts(examples: Sequence[Mapping], text_fields: Sequence[str]) -> list:
        """All lists of tokens that the examples hold."""
        return [example[field] for example in examples for field in text_fields]

    def shuffled(self, seed: int, epoch: int) -> tf.data.Dataset:
        """The `(inputs, labels)` of an epoch, in an order that these two fix."""
        batches = self._shuffled(np.random.default_rng([seed, epoch]))
        dataset = tf.data.Dataset.from_generator(
            lambda: ((self.inputs(rows), self.targets(rows)) for rows in batches),
            output_signature=self._signature(),
        )
        dataset = dataset.apply(tf.data.experimental.assert_cardinality(len(batches)))
        untuned = tf.data.Options()  # else an epoch ends when the tuner next wakes up
        untuned.autotune.enabled = False
        return dataset.prefetch(2).with_options(untuned)

    def by_length(self) -> list[np.ndarray]:
        """The examples' numbers batch by batch, the shortest first."""
        return self._cut(np.argsort(self._lengths, kind="stable"))

    def inputs(self, rows: Sequence[int]) -> dict[str, tf.Tensor]:
        """What the model reads of the examples with these numbers."""
        examples = [self.examples[i] for i in rows]
        inputs = {}
        for field in self.text_fields:
            texts = [list(example[field]) for example in examples]
            ragged = tf.ragged.constant(texts, tf.string, ragged_rank=1)
            inputs[field] = ragged.to_tensor()
            if self.cache is not None:
                inputs[f"{field}_layers"] = tf.constant(self.cache(texts))
        for field in self.number_fields:
            numbers = [_numbers(example[field]) for example in examples]
            inputs[field] = tf.constant(_padded(numbers, 0))
        return inputs

    def targets(self, rows: Sequence[int]):
        """Their labels, padded."""
        labels = [keras.tree.map_structure(_numbers, self.labels[i]) for i in rows]
        return keras.tree.map_structure(
            lambda *arrays: tf.constant(_padded(arrays, PADDING)), *labels
        )

    def _shuffled(self, rng):
        """Sorted among so many that lengths are alike, in random batches."""
        order = rng.permutation(len(self.examples))
        at_once = BATCHES_SORTED_TOGETHER * self.batch_size
        batches = []
        for first in range(0, len(order), at_once):
            some = order[first : first + at_once]
            some = some[np.argsort(self._lengths[some], kind="stable")]
            batches.extend(self._cut(some))
        return [batches[i] for i in rng.permutation(len(batches))]

    def _cut(self, order):
        size = self.batch_size
        return [order[first : first + size] for first in range(0, len(order), size)]

    def _signature(self):
        """Of an example's batch, with sizes left open, so that one graph serves all."""

        def open_sizes(name, tensor):
            if name in layers:
                return tf.TensorSpec(self.cache.shape, tensor.dtype)
            return tf.TensorSpec((None,) * tensor.shape.rank, tensor.dtype)

        layers = [f"{field}_layers" for field in self.text_fields if self.cache]
        inputs = {n: open_sizes(n, x) for n, x in self.inputs([0]).items()}
        labels = keras.tree.map_structure(
            lambda x: open_sizes(None, x), self.targets([0])
        )
        return inputs, labels


def predictions(model: keras.Model, batches: Batches) -> list:
    """What the model gives for each example, in their order.

    Returns:
        For each example an array, or a structure of arrays, without the batch axis.
        Padding up to the longest of its batch is still there.
    """
    results = [None] * len(batches.examples)
    for rows in batches.by_length():
        outputs = model.predict_on_batch(batches.inputs(rows))
        for place, row in enumerate(rows):
            results[row] = keras.tree.map_structure(lambda x, i=place: x[i], outputs)
    return results


def _numbers(value):
    """An array of one of the two kinds that models compute with."""
    array = np.asarray(value)
    return array.astype(np.float32 if array.dtype.kind == "f" else np.int32)


def _padded(arrays, value):
    """Arrays of one rank as one array: (batch, …)."""
    shape = np.max([array.shape for array in arrays], axis=0).astype(int)
    padded = np.full((len(arrays), *shape), value, arrays[0].dtype)
    for i, array in enumerate(arrays):
        padded[(i, *map(slice, array.shape))] = array
    return padded
