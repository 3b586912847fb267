"""The base of the networks of all kinds, by Keras."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.base.argument_checks import check_counts, check_numbers
from elmo_keras.heads.batches import ExampleBatches, open_shapes
from elmo_keras.heads.encoder import TaskEncoder
from elmo_keras.heads.token_batch import TokenBatch
from elmo_keras.heads.token_vectors import TokenVectors, named_weights
from elmo_keras.text.length_batches import map_batches
from elmo_keras.text.sentences import without_padding


class TaskModel(keras.Model):
    """A network that reads tokens with a `TaskEncoder`.

    Its inputs are a mapping: field F holds strings `(batch, time)` padded with `""`,
    and `F_layers`, where present, the result of `elmo.all_layers` for them.

    Args:
        token_vectors: a `TokenVectors` layer.
        units: size of each LSTM in each direction.
        dropout: rate of the dropout between the layers.
        predicate_dim: see `TaskEncoder`.

    Attributes:
        kind: the name of its row in `KINDS`.
        text_fields: names of the fields with tokens.
        other_fields: names of the fields without tokens; a model needs or takes them.
        compares_tokens: whether memory grows with the product of two texts' lengths.
        finds_words: whether an export splits texts into words by itself.
        listed: names of attributes that the metadata of an export lists.
    """

    kind: str
    text_fields: tuple[str, ...] = ("tokens",)
    other_fields: tuple[str, ...] = ()
    compares_tokens = False
    finds_words = False
    listed: tuple[str, ...] = ()

    def __init__(
        self,
        token_vectors: TokenVectors,
        *,
        units: int,
        dropout: float,
        predicate_dim: int = 0,
        **kwargs,
    ):
        if not isinstance(token_vectors, TokenVectors):
            raise ValueError(
                "`token_vectors` should be TokenVectors. Received: "
                f"{type(token_vectors).__name__}"
            )
        check_counts(units=units)
        check_numbers(0, 1, dropout=dropout)
        super().__init__(**kwargs)
        self.token_vectors = token_vectors
        self.units = units
        self.dropout = dropout
        self.encoder = TaskEncoder(
            token_vectors, units, dropout, predicate_dim, name="encoder"
        )
        self.drop = keras.layers.Dropout(dropout, name="drop")
        self._graph = None

    def arguments(self) -> dict[str, Any]:
        """The arguments of the model's class except `token_vectors`, in types of JSON."""
        return {"units": self.units, "dropout": self.dropout}

    def get_config(self):
        vectors = keras.saving.serialize_keras_object(self.token_vectors)
        return super().get_config() | {"token_vectors": vectors} | self.arguments()

    @classmethod
    def from_config(cls, config):
        token_vectors = keras.saving.deserialize_keras_object(config["token_vectors"])
        return cls(**config | {"token_vectors": token_vectors})

    def part_sizes(self) -> dict[str, int]:
        """The attributes after `encoder` that have weights, and the sizes of their inputs."""
        raise NotImplementedError

    def build(self, input_shape=None):
        self.encoder.build()
        for name, size in self.part_sizes().items():
            getattr(self, name).build((None, None, size))

    def named_weights(self) -> dict[str, keras.Variable]:
        """The model's weights but the biLM's, by names that files of heads rely on.

        A name says what a weight is for, such as `encoder/forward/kernel`: the first half is
        one of the model's parts, the last the name that Keras' layers give a weight. The
        model is built.
        """
        return named_weights(self, "encoder", *self.part_sizes())

    def encode(self, inputs, field, training):
        """The encoder's outputs for a field of inputs."""
        layers, predicate = inputs.get(f"{field}_layers"), inputs.get("predicate")
        return self.encoder(inputs[field], layers, predicate, training=training)

    def predict(self, x, *args, **kwargs) -> Any:
        """The predictions for lists of tokens, in their order; for tensors, as Keras' method.

        Args:
            x: a list of texts, each a list of tokens; or a mapping from each field of the
                model to such a list, all of the same length. For other inputs, such as
                tensors and data sets, and other arguments, see `keras.Model.predict`.

        Returns:
            For lists, a list of predictions, see the model's class.

        Raises:
            ValueError: a field is missing or unknown, or lists have other lengths.
        """
        columns = x if isinstance(x, Mapping) else {self.text_fields[0]: x}
        if not all(isinstance(column, list | tuple) for column in columns.values()):
            return super().predict(x, *args, **kwargs)
        fields = {*self.text_fields, *self.other_fields}
        lengths = {name: len(column) for name, column in columns.items()}
        is_whole = {*self.text_fields} <= {*columns} <= fields
        if not is_whole or len({*lengths.values()}) > 1:
            raise ValueError(
                f"`x` should hold lists of the same length for {', '.join(sorted(fields))}. "
                f"Received the lengths {lengths}"
            )
        columns = {
            name: [*map(without_padding, column)]
            if name in self.text_fields
            else column
            for name, column in columns.items()
        }
        rows = zip(*columns.values())
        examples = [self.read_example(dict(zip(columns, row))) for row in rows]
        return self.results(self.batches(examples))

    def results(self, batches: ExampleBatches) -> list:
        """Predictions for the examples of batches."""

        def compute(rows):
            scores = self.join_scores(self._example_scores(rows, batches))
            return self.decode(scores, [batches.examples[i] for i in rows])

        return map_batches(compute, batches.by_length())

    def example_scores(self, batches: ExampleBatches) -> list:
        """The scores of each example alone, see `split_scores`."""
        return map_batches(
            lambda rows: self._example_scores(rows, batches), batches.by_length()
        )

    def _example_scores(self, rows, batches):
        lengths = [len(batches.examples[i][self.text_fields[0]]) for i in rows]
        return self.split_scores(self.outputs(batches.inputs(rows)), lengths)

    def scores(self, *batches: TokenBatch) -> Any:
        """The scores of the kind's light network, for a batch of each text field."""
        columns = zip(*(batch.sentences for batch in batches))
        examples = [dict(zip(self.text_fields, tokens)) for tokens in columns]
        return self.join_scores(self.example_scores(self.batches(examples)))

    def outputs(self, inputs: Mapping[str, tf.Tensor]) -> Any:
        """The outputs of a call as NumPy arrays, by a graph for batches of all shapes."""
        if self.run_eagerly:
            outputs = self(inputs, training=False)
        else:
            if self._graph is None:
                self._graph = tf.function(
                    lambda x: self(x, training=False), autograph=False
                )
            # Traces once for batches with `F_layers`, and once for those without.
            self._graph.get_concrete_function(open_shapes(inputs))
            outputs = self._graph(inputs)
        return keras.tree.map_structure(_as_array, outputs)

    def split_scores(self, outputs: Any, lengths: Sequence[int]) -> list:
        """The scores of each example of a batch, without padding."""

        def part(i, n):
            return keras.tree.map_structure(lambda x: x[i, :n], outputs)

        return [part(i, n) for i, n in enumerate(lengths)]

    def join_scores(self, scores: list) -> Any:
        """The scores of examples joined, for flat sentences `(tokens, …)`."""
        return keras.tree.map_structure(lambda *x: np.concatenate(x), *scores)

    def decode(self, scores: Any, examples: Sequence[Mapping]) -> list:
        """Predictions for examples, from their joined scores."""
        raise NotImplementedError

    def batches(self, examples: Sequence[Mapping], **options: Any) -> ExampleBatches:
        """Batches of examples with this model's fields; for options see `ExampleBatches`."""
        return ExampleBatches(
            examples,
            self.text_fields,
            self.other_fields,
            compares_tokens=self.compares_tokens,
            **options,
        )

    def read_example(self, example: dict) -> dict:
        """An example with lists of tokens and of integers for all fields."""
        return example

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        if sample_weight is not None:
            raise ValueError(
                f"The loss of {type(self).__name__} has no weights of examples: "
                "`sample_weight` should be None. Repeat examples that count more."
            )
        return self.data_loss(x, y, y_pred) + sum(self.losses)

    def data_loss(self, x, y, y_pred) -> tf.Tensor:
        """The loss without penalties on weights."""
        raise NotImplementedError


def _as_array(x):
    array = np.asarray(x)
    is_integer = array.dtype.kind in "iub"  # bfloat16 is of no kind of NumPy's
    return array if is_integer else array.astype(np.float32)


def mean_cross_entropy(labels: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
    """The mean of −log p over the labels that are not −1."""
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        tf.maximum(labels, 0), tf.cast(scores, tf.float32)
    )
    has_label = tf.cast(labels >= 0, losses.dtype)
    return tf.reduce_sum(losses * has_label) / tf.maximum(tf.reduce_sum(has_label), 1)
