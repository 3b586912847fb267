"""Loss and update of the language model, against plain NumPy."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.training.optimizers import make_optimizer
from elmo_keras.training.step import stream_losses, train_step
from elmo_keras.training.streams import Streams
from tests.support.models import randomize
from tests.support.oracle_losses import expected_losses
from tests.support.training_runs import CORPUS, SENTENCES, VOCABULARY

ROWS, TIME, RATE = 2, 5, 0.2


def streams_of(bilm, n_negatives=None, zero_state_share=0.0):
    sizes = {"n_rows": ROWS, "unroll_steps": TIME, "n_negatives": n_negatives}
    share = {"zero_state_share": zero_state_share}
    return Streams(CORPUS, VOCABULARY, bilm.config, **sizes, **share)


def batches(bilm, n_negatives=None, n_parts=1, epoch=0):
    """The parts of each batch in an epoch."""
    return list(streams_of(bilm, n_negatives).batches(epoch, n_parts=n_parts))


def updated(bilm, parts, clip_norm=10.0, *, only_softmax=False, name="adagrad"):
    """Weights after one step from random ones, results of the step, the optimizer."""
    randomize(bilm)
    optimizer = make_optimizer(name, RATE)
    optimizer.build(bilm.trainable_weights)
    options = {"clip_norm": clip_norm, "only_softmax": only_softmax}
    results = train_step(bilm, optimizer, parts, bilm.lstm.zero_state(ROWS), **options)
    return [np.copy(w) for w in bilm.get_weights()], results, optimizer


@pytest.mark.parametrize(
    ("share", "in_the_first_row"),
    [(0, [False] * 3), (0.5, [True, True, False]), (1, [True] * 3)],
)
def test_stream_losses_are_those_of_the_oracle(bilm, share, in_the_first_row):
    """With the state carried over, except to sentences read from the zero state."""
    streams = streams_of(bilm, zero_state_share=share)
    plan = streams.plan(0)
    assert plan.from_zero[:3].tolist() == in_the_first_row
    state = bilm.lstm.zero_state(2)
    losses = []
    for (batch,) in streams.batches(0):
        step, state = stream_losses(bilm, batch, state)
        losses.append(np.where(batch["weights"] > 0, step, np.nan))
    losses = np.concatenate(losses, axis=2)  # (2, rows, time)
    rows = [[], []]
    for i, start, from_zero in zip(plan.order, plan.starts, plan.from_zero):
        rows[int(start >= plan.rows[1])].append((SENTENCES[i], from_zero))
    assert len(rows[0]) > 1  # the state goes from sentence to sentence
    for direction in range(2):
        for r, row in enumerate(rows):
            expected, oracle = [], None
            for sentence, from_zero in row:
                state = None if from_zero else oracle
                some, oracle = expected_losses(
                    bilm, VOCABULARY, sentence, direction=direction, state=state
                )
                expected.extend(some)
            actual = losses[direction, r]
            # float32 through two layers of up to nine steps.
            np.testing.assert_allclose(actual[~np.isnan(actual)], expected, atol=1e-4)


@pytest.mark.parametrize(("n_negatives", "clip"), [(None, 0.01), (3, 0.01), (3, 100.0)])
def test_a_step_is_adagrad_on_the_clipped_mean_gradient(bilm, n_negatives, clip):
    (batch,) = parts = batches(bilm, n_negatives)[-1]
    real = batch["weights"] > 0
    assert 0 < int(tf.reduce_sum(tf.cast(real, tf.int32))) < tf.size(real)
    before = [np.copy(w) for w in bilm.get_weights()]
    with tf.GradientTape() as tape:
        losses, _ = stream_losses(bilm, batch, bilm.lstm.zero_state(2))
        loss = tf.reduce_mean(tf.boolean_mask(losses, [real] * 2))
        share = tf.reduce_mean(batch["weights"])  # the share of a full window
        objective = loss * TIME * share
    gradients = tape.gradient(objective, [w.value for w in bilm.trainable_weights])
    gradients = [tf.convert_to_tensor(g).numpy() for g in gradients]
    norm = np.sqrt(sum(np.square(g).sum() for g in gradients))
    assert 0.01 < norm < 100
    after, (step_loss, tokens, _), _ = updated(bilm, parts, clip)
    assert float(step_loss) == pytest.approx(float(loss), rel=1e-6)
    assert float(tokens) == batch["weights"].numpy().sum()
    for old, new, gradient in zip(before, after, gradients, strict=True):
        gradient = gradient * min(1, clip / norm)
        expected = old - RATE * gradient / np.sqrt(1 + gradient**2)
        np.testing.assert_allclose(new, expected, atol=1e-6)  # rounding


def test_a_decay_of_the_weights_is_part_of_a_step(bilm):
    parts, before = batches(bilm)[0], [np.copy(w) for w in bilm.get_weights()]
    optimizer = keras.optimizers.AdamW(1e-6, weight_decay=1e5)
    optimizer.build(bilm.trainable_weights)
    train_step(bilm, optimizer, parts, bilm.lstm.zero_state(2), clip_norm=10.0)
    for now, weight in zip(bilm.get_weights(), before, strict=True):
        np.testing.assert_allclose(now, 0.9 * weight, atol=1e-5)  # and Adam's 1e-6


@pytest.mark.parametrize(
    ("n_negatives", "name"),
    [(3, "adagrad"), pytest.param(None, "adam", marks=pytest.mark.journey)],
)
def test_parts_give_the_update_of_the_whole(bilm, n_negatives, name):
    # The rows differ in length, and one of them has ended in the last batch.
    halves = batches(bilm, n_negatives, n_parts=2)
    for whole, divided in zip(batches(bilm, n_negatives), halves):
        assert len(divided) == 2
        expected, actual = (
            tf.nest.flatten(updated(bilm, parts, name=name)[:2])
            for parts in (whole, divided)
        )
        for a, b in zip(actual, expected, strict=True):
            # Sums in another order; Adam divides by gradients near 0.
            np.testing.assert_allclose(a, b, atol=1e-5 if name == "adagrad" else 1e-3)


@pytest.mark.parametrize("n_negatives", [None, 3])
def test_the_softmax_can_be_trained_alone(bilm, n_negatives):
    before = [np.copy(w) for w in bilm.get_weights()]
    parts = batches(bilm, n_negatives)[0]
    after, _, optimizer = updated(bilm, parts, only_softmax=True)
    softmax = [any(w is s for s in bilm.softmax.weights) for w in bilm.weights]
    assert [np.any(a != b) for a, b in zip(after, before)] == softmax
    # The accumulators of the other weights stay at 1 too.
    assert [np.any(sums.numpy() != 1) for sums in optimizer.variables[2:]] == softmax
