"""One step of training a biLM on streams of text."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.layers.sampled_softmax import sampled_softmax_losses
from elmo_keras.layers.word_softmax import word_logits

Batch = Mapping[str, tf.Tensor]  # one part of a batch of `Streams.batches`


def train_step(
    bilm: BidirectionalLanguageModel,
    optimizer: keras.optimizers.Optimizer,
    parts: Sequence[Batch],
    state: Any,
    *,
    clip_norm: float,
    only_softmax: bool = False,
    jit_compile: bool = False,
) -> tuple[tf.Tensor, tf.Tensor, Any]:
    """Updates the weights with one batch of `streams.Streams`, in a replica context.

    Loss, gradient and clipping are computed over the whole batch, however its rows
    are divided among replicas and parts, whose gradients are accumulated.

    Returns the mean loss of the two directions in nats a token and the number of
    tokens predicted in each direction, both over all replicas; and the LSTM state.

    With `jit_compile` XLA compiles loss and gradients, once for each shape of `parts`.
    """
    softmax = bilm.softmax.weights  # pyright: ignore[reportOptionalMemberAccess]
    encoder = [w for w in bilm.trainable_weights if not any(w is s for s in softmax)]
    encoder = [] if only_softmax else encoder
    replicas = tf.distribute.get_replica_context()
    _, n_rows, _ = parts[0]["words"].shape.as_list()
    n_rows *= len(parts) * replicas.num_replicas_in_sync

    def compute(part, rows):
        return _gradients(bilm, part, rows, encoder, n_rows)

    if jit_compile:  # made anew for each replica, whose weights it reads
        compute = tf.function(compute, autograph=False, jit_compile=True)
    sums, states = [], []  # sums of the loss and the gradients
    for part, rows in zip(parts, _split(state, len(parts))):
        if sums:  # wait for them: only one part is in memory
            with tf.control_dependencies(sums):
                part, rows = tf.nest.map_structure(tf.identity, (part, rows))
        part = {**part, "masks": _dropout_masks(bilm, part)}
        *more, rows = compute(part, rows)
        states.append(rows)
        sums = [a + b for a, b in zip(sums, more)] if sums else more
    loss, *gradients = replicas.all_reduce(tf.distribute.ReduceOp.SUM, sums)
    gradients, _ = tf.clip_by_global_norm(gradients, clip_norm)
    if "candidates" in parts[0]:
        rows = parts[0]["candidates"]
        gradients[-2:] = [
            tf.IndexedSlices(gradient, rows, tf.convert_to_tensor(weight.shape))
            for gradient, weight in zip(gradients[-2:], softmax)
        ]
    weights = encoder + softmax
    if replicas.num_replicas_in_sync == 1:
        optimizer.apply(gradients, weights)
    else:
        replicas.merge_call(_update, args=(optimizer, gradients, weights))
    state = tf.nest.map_structure(lambda *rows: tf.concat(rows, axis=0), *states)
    return loss, parts[0]["n_predictions"], state


def _split(state, n_parts):
    tensors = [tf.split(x, n_parts) for x in tf.nest.flatten(state)]
    return [tf.nest.pack_sequence_as(state, rows) for rows in zip(*tensors)]


def _gradients(bilm, part, state, encoder, n_rows):
    """A part's loss, its gradient for each of `encoder` and the softmax, and the state."""
    table = _softmax_rows(bilm.softmax, part)
    with tf.GradientTape() as tape:
        tape.watch(table)
        losses, state = stream_losses(bilm, part, state, table=table)
        loss = tf.reduce_sum(losses * part["weights"])
        # bilm-tf takes the gradient of the mean loss times `unroll_steps`. A window
        # at the end of an epoch, with fewer tokens, weighs as much less.
        objective = loss * (1 / (2 * n_rows))
    gradients = tape.gradient(objective, [w.value for w in encoder] + table)
    gradients = [tf.convert_to_tensor(g) for g in gradients]
    return loss / (2 * part["n_predictions"]), *gradients, state


def _update(strategy, optimizer, gradients, weights):
    """Applies gradients that are already summed over all replicas.

    `optimizer.apply` would sum them again, and repeat the rows of the sparse ones.
    """
    rate = optimizer.learning_rate

    def update(variable, gradient, rate):
        optimizer.update_step(gradient, variable, rate)

    for weight, gradient in zip(weights, gradients):
        strategy.extended.update(weight.value, update, (gradient, rate), group=False)
    optimizer.iterations.assign_add(1)


def stream_losses(
    bilm: BidirectionalLanguageModel, batch: Batch, state: Any, *, table=None
) -> tuple[tf.Tensor, Any]:
    """The losses of a part, float32 `(2, batch, time)`, and the state of its rows."""
    table = table or _softmax_rows(bilm.softmax, batch)
    masks = batch["masks"] if "masks" in batch else _dropout_masks(bilm, batch)
    cnn, characters = bilm.token_representation, batch["characters"]
    if isinstance(characters, tuple):  # pieces of fixed shapes
        vectors = cnn.call_pieces(characters)
    else:
        vectors = cnn(characters, training=True)
    continuing, losses, last = _continuing(batch), [], []
    words = tf.unstack(batch["words"], num=2)
    for d, direction in enumerate((bilm.lstm.forward, bilm.lstm.backward)):
        # Both streams come in reading order, so neither is reversed here.
        x = _time_major(tf.gather(vectors, words[d]))
        outputs, rows = direction.call_rows(x, continuing, state[d], masks=masks[d])
        last.append(rows)
        targets = batch["targets"][d]
        shape, x = targets.shape, outputs[-1]
        x = _time_major(tf.reshape(x, [*shape[::-1], x.shape[1]]))  # row by row again
        targets = tf.reshape(targets, [-1])
        if "candidates" in batch:
            token_losses = sampled_softmax_losses(
                x,
                *table,
                targets=targets,
                negatives=batch["negatives"][d],
                log_expected=batch["log_expected"][d],
            )
        else:
            logits = word_logits(x, *table)
            token_losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                targets, logits
            )
        losses.append(tf.reshape(token_losses, shape))  # pyright: ignore[reportArgumentType]
    return tf.stack(losses), last


def _dropout_masks(bilm, batch):
    _, n_rows, time = batch["words"].shape
    return [
        direction.dropout_masks(n_rows * time, batch["seed"] * [1, 2] + [0, d])
        for d, direction in enumerate((bilm.lstm.forward, bilm.lstm.backward))
    ]


def _softmax_rows(softmax, batch):
    if "candidates" not in batch:
        return softmax.table()
    # The gradient of these rows is summed per word, and small for any vocabulary.
    table = softmax.kernel.value, softmax.bias.value
    return [tf.gather(w, batch["candidates"]) for w in table]


def _time_major(rows):
    """The tokens of rows (batch, time, dim), step by step: (time · batch, dim)."""
    return tf.reshape(tf.transpose(rows, [1, 0, 2]), [-1, rows.shape[2]])


def _continuing(batch):
    """float32 `(time, batch, 1)`: 0.0 where a row starts from the zero state, or 1.0."""
    _, n_rows, time = batch["words"].shape
    if "from_zero" not in batch:
        return tf.ones((time, n_rows, 1))
    # Several workers lose the size of the first axis.
    from_zero = tf.ensure_shape(batch["from_zero"], (n_rows, time))
    from_zero = tf.expand_dims(tf.transpose(from_zero), axis=-1)
    return 1 - tf.cast(from_zero, tf.float32)
