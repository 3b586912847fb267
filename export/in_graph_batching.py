"""Requests that come at the same time put into one batch, within the graph."""

import dataclasses

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Batching:
    """How requests are put together.

    For servers that can't do it themselves. All outputs are computed then,
    whatever is asked for, and no gradient passes.

    Args:
        max_batch_size: most sentences of a batch; a request with more of them is
            a batch by itself.
        batch_timeout_micros: how long a batch waits to be filled.
        num_batch_threads: batches worked on at the same time.
        max_enqueued_batches: where so many wait, a request is refused with
            UNAVAILABLE.
    """

    max_batch_size: int = 32
    batch_timeout_micros: int = 2000
    num_batch_threads: int = 2
    max_enqueued_batches: int = 100


def batched(vectors, batching: Batching):
    """`vectors` (tokens, time) run over the sentences of several requests at once.

    Args:
        vectors: see `vectors.Vectors`.
        batching: see `Batching`.
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
    """One string for each row: what is batched has to be of one shape."""
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
    """An output of a batch, cut or padded to the time axis of one request."""
    x = tf.ensure_shape(x, spec.shape)
    rank = x.shape.rank
    if rank < 3:
        return x
    x = x[..., :time, :]
    missing = time - tf.shape(x)[-2]
    x = tf.pad(x, [[0, 0]] * (rank - 2) + [[0, missing], [0, 0]])
    return tf.ensure_shape(x, spec.shape)
