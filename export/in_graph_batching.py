"""Batches of concurrent requests, formed within the graph."""

import dataclasses

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Batching:
    """Limits of the batches that are formed within the graph.

    They are for servers that don't batch by themselves. All outputs are then
    computed, whichever are requested, and no gradient passes.

    Args:
        max_batch_size: maximum number of sentences in a batch; a larger request is
            a batch by itself.
        batch_timeout_micros: maximum time a batch waits for further requests.
        num_batch_threads: number of batches computed at the same time.
        max_enqueued_batches: maximum number of waiting batches; further requests
            are refused with UNAVAILABLE.
    """

    max_batch_size: int = 32
    batch_timeout_micros: int = 2000
    num_batch_threads: int = 2
    max_enqueued_batches: int = 100


def batched(vectors, batching: Batching):
    """The function `vectors(tokens, time)`, run on several requests at once.

    Args:
        vectors: an instance of `vectors.Vectors`.
        batching: limits of the batches.
    """

    @tf.nondifferentiable_batch_function(
        autograph=False, **dataclasses.asdict(batching)
    )
    def together(rows):
        tokens = _from_rows(rows)
        return vectors(tokens, tf.reduce_max(tf.cast(tokens.row_lengths(), tf.int32)))

    alone = tf.function(vectors, autograph=False).get_concrete_function(
        tf.RaggedTensorSpec((None, None), tf.string), tf.TensorSpec((), tf.int32)
    )

    def shared(tokens, time):
        outputs = together(_to_rows(tokens))
        specs = alone.structured_outputs
        return {name: _fitted(outputs[name], specs[name], time) for name in specs}

    def run(tokens, time):
        rows = tokens.nrows()
        return tf.cond(
            (rows > 0) & (rows <= batching.max_batch_size),
            lambda: shared(tokens, time),
            lambda: vectors(tokens, time),
        )

    return run


def _to_rows(tokens):
    """One string for each row: the batching operation needs equal shapes."""
    return tf.map_fn(
        tf.io.serialize_tensor,
        tokens,
        fn_output_signature=tf.TensorSpec((), tf.string),
    )


def _from_rows(rows):
    return tf.map_fn(
        lambda row: tf.ensure_shape(tf.io.parse_tensor(row, tf.string), (None,)),
        rows,
        fn_output_signature=tf.RaggedTensorSpec((None,), tf.string, ragged_rank=0),
    )


def _fitted(x, spec, time):
    """An output of a batch, cut or padded to the length `time` of one request."""
    x = tf.ensure_shape(x, spec.shape)
    rank = x.shape.rank
    if rank < 3:
        return x
    x = x[..., :time, :]
    missing = time - tf.shape(x)[-2]
    x = tf.pad(x, [[0, 0]] * (rank - 2) + [[0, missing], [0, 0]])
    return tf.ensure_shape(x, spec.shape)
