"""One step of training a biLM on a stream of text."""

import dataclasses
from typing import Any

import keras
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.layers.packing import over_real_tokens


@dataclasses.dataclass(frozen=True)
class TrainingOptions:
    """How a biLM is trained; the fields are the keys of a published options.json.

    Args:
        n_epochs: how often the corpus is gone through.
        batch_size: rows of text read at a time.
        unroll_steps: tokens of each row in a step; gradients stop there.
        n_negative_samples_batch: negatives of the sampled softmax. Where the
            vocabulary has no more words, the softmax is full.
        learning_rate: of Adagrad.
        dropout: rate on the inputs of the LSTM layers and on the last output.
        all_clip_norm_val: bound of the global norm of the gradient.

    The defaults are those of the released models.
    """

    n_epochs: int = 10
    batch_size: int = 128
    unroll_steps: int = 20
    n_negative_samples_batch: int = 8192
    learning_rate: float = 0.2
    dropout: float = 0.1
    all_clip_norm_val: float = 10.0

    def to_options(self, n_train_tokens: int, n_tokens_vocab: int) -> dict[str, Any]:
        """The keys that training adds to an options.json."""
        counts = {"n_train_tokens": n_train_tokens, "n_tokens_vocab": n_tokens_vocab}
        return {"bidirectional": True} | dataclasses.asdict(self) | counts


def adagrad(options: TrainingOptions) -> keras.optimizers.Optimizer:
    """The optimizer of the released models: accumulators start at 1.0."""
    return keras.optimizers.Adagrad(
        options.learning_rate, initial_accumulator_value=1.0, epsilon=0.0
    )


def zero_state(bilm: BidirectionalLanguageModel, batch_size: int):
    """LSTM state of zeros for both directions, as `train_step` takes it."""
    lstm = bilm.lstm
    return [d.zero_state(batch_size) for d in (lstm.forward, lstm.backward)]


def train_step(bilm, optimizer, batch, state, options: TrainingOptions):
    """Updates the weights by one batch of `corpus.stream_batches`.

    Args:
        bilm: a built biLM with a softmax.
        optimizer: a Keras optimizer built on its trainable weights.
        batch: a batch of the stream.
        state: LSTM state behind the batch before.
        options: see there.

    Returns:
        The mean loss of the two directions in nats a token (of the sampled
        softmax where that is used), the number of tokens read, and the state.
    """
    with tf.GradientTape() as tape:
        losses, state = stream_losses(bilm, batch, state, options)
        tokens = tf.reduce_sum(batch["weights"])
        loss = tf.reduce_sum(losses * batch["weights"]) / (2 * tokens)
        objective = loss * options.unroll_steps
    weights = bilm.trainable_weights
    gradients = tape.gradient(objective, [w.value for w in weights])
    # Keras' Adagrad squares each of a word's rows by itself; they are summed here.
    gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
    gradients, _ = tf.clip_by_global_norm(gradients, options.all_clip_norm_val)
    optimizer.apply(gradients, weights)
    return loss, tokens, state


def stream_losses(bilm, batch, state, options: TrainingOptions):
    """Losses `(2, batch, time)` of both directions' streams, and the state."""
    vectors = bilm.token_representation(batch["characters"])
    x = tf.gather(vectors, batch["words"])  # (2, batch, time, projection_dim)
    losses, last = [], []
    for d, direction in enumerate((bilm.lstm.forward, bilm.lstm.backward)):
        # Both streams come in reading order, so neither is reversed here.
        outputs, direction_state = over_real_tokens(
            lambda *packed, lstm=direction: lstm.call_packed(*packed, training=True),
            x[d],
            None,
            state[d],
        )
        losses.append(_word_losses(bilm, outputs[-1], batch["targets"][d], options))
        last.append(direction_state)
    return tf.stack(losses), last


def _word_losses(bilm, outputs, targets, options):
    vectors = tf.reshape(outputs, [-1, bilm.config.projection_dim])
    words = tf.reshape(targets, [-1])
    if options.n_negative_samples_batch < bilm.vocabulary_size:
        losses = bilm.softmax.sampled_losses_of(
            vectors, words, options.n_negative_samples_batch
        )
    else:
        losses = bilm.softmax.losses_of(vectors, words)
    return tf.reshape(losses, tf.shape(targets))
