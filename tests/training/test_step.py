"""Loss, update and evaluation of the language model, against plain NumPy."""

import dataclasses

import keras
import numpy as np
import pytest
import reference
import tensorflow as tf
from conftest import published_weights, randomize

from elmo_keras import BidirectionalLanguageModel, Vocabulary
from elmo_keras.corpus import Corpus
from elmo_keras.optimizers import make_optimizer
from elmo_keras.perplexity import log_probabilities, perplexity
from elmo_keras.streams import Plan, Streams
from elmo_keras.training import (
    TrainingOptions,
    stream_losses,
    train_step,
    zero_state,
)

SENTENCES = [list("abca"), list("bd"), ["c"], list("aaabbb")]
CORPUS = Corpus.of(SENTENCES)
VOCABULARY = Vocabulary.count(SENTENCES, min_count=2)
OPTIONS = TrainingOptions(batch_size=2, unroll_steps=5, dropout=0.0)


@pytest.fixture
def bilm(config):
    bilm = BidirectionalLanguageModel(config, len(VOCABULARY))
    bilm.build()
    return randomize(bilm)


def batches(bilm, n_negatives=None, n_parts=1, epoch=0):
    """The parts of each batch of an epoch."""
    streams = Streams(
        CORPUS,
        VOCABULARY,
        bilm.config,
        OPTIONS.batch_size,
        OPTIONS.unroll_steps,
        n_negatives,
    )
    return list(streams.batches(epoch, n_parts=n_parts))


def updated(bilm, parts, options=OPTIONS, only_softmax=False, name="adagrad"):
    """The weights after one step from random ones, its results, and the optimizer."""
    randomize(bilm)
    optimizer = make_optimizer(name, options.learning_rate)
    optimizer.build(bilm.trainable_weights)
    state = zero_state(bilm, options.batch_size)
    results = train_step(bilm, optimizer, parts, state, options, only_softmax)
    return [np.copy(w) for w in bilm.get_weights()], results, optimizer


def expected_losses(bilm, tokens, direction, state=None):
    """Losses of a sentence in reading order by the oracle: (tokens − 1,)."""
    weights = published_weights(bilm)
    config = bilm.config
    ids = [reference.character_ids(t, config.max_characters_per_token) for t in tokens]
    x = [reference.token_vector(row, weights, config) for row in ids[:-1]]
    layers, state = reference.direction_layers(x, weights, config, direction, state)
    logits = layers[-1] @ bilm.softmax.kernel.numpy().T + bilm.softmax.bias.numpy()
    targets = VOCABULARY.encode(tokens[1:])
    losses = [-np.log(reference.softmax(row)[t]) for row, t in zip(logits, targets)]
    return np.array(losses), state


def test_log_probabilities_are_those_of_the_oracle(bilm):
    actual = log_probabilities(bilm, CORPUS, VOCABULARY)
    for row, sentence in zip(actual, SENTENCES, strict=True):
        tokens = ["<S>", *sentence, "</S>"]
        for direction, reading in enumerate((tokens, tokens[::-1])):
            losses, _ = expected_losses(bilm, reading, direction)
            assert row[direction] == pytest.approx(-losses.sum(), abs=1e-4)


def test_perplexity_is_per_predicted_token(bilm):
    sums = log_probabilities(bilm, CORPUS, VOCABULARY).sum(axis=0)
    result = perplexity(bilm, CORPUS, VOCABULARY)
    n = sum(len(s) + 1 for s in SENTENCES)
    assert result.forward == pytest.approx(np.exp(-sums[0] / n))
    assert result.backward == pytest.approx(np.exp(-sums[1] / n))
    assert result.mean == pytest.approx(np.exp(-sums.mean() / n))


def test_a_model_that_knows_nothing_has_the_vocabulary_as_perplexity(bilm):
    for weight in bilm.softmax.weights:
        weight.assign(tf.zeros_like(weight.value))
    assert perplexity(bilm, CORPUS, VOCABULARY).mean == pytest.approx(len(VOCABULARY))


def test_stream_losses_are_those_of_the_oracle_with_state_carried_over(bilm):
    state = zero_state(bilm, 2)
    losses = []
    for (batch,) in batches(bilm):
        step, state = stream_losses(bilm, batch, state)
        losses.append(np.where(batch["weights"] > 0, step, np.nan))
    losses = np.concatenate(losses, axis=2)  # (2, rows, time)
    plan = Plan.of(CORPUS, 2, 0, 0)
    rows = [[], []]
    for i, start in zip(plan.order, plan.starts):
        rows[int(start >= plan.rows[1])].append(SENTENCES[i])
    assert len(rows[0]) > 1  # the state goes from sentence to sentence
    for direction in range(2):
        for r, row in enumerate(rows):
            expected, oracle = [], None
            for sentence in row:
                tokens = ["<S>", *sentence, "</S>"]
                reading = tokens[::-1] if direction else tokens
                some, oracle = expected_losses(bilm, reading, direction, oracle)
                expected.extend(some)
            actual = losses[direction, r]
            # float32 through two layers of up to nine steps.
            np.testing.assert_allclose(actual[~np.isnan(actual)], expected, atol=1e-4)


@pytest.mark.parametrize("n_negatives", [None, 3])
def test_a_step_is_adagrad_on_the_clipped_gradient_of_the_mean_loss(bilm, n_negatives):
    options = dataclasses.replace(OPTIONS, all_clip_norm_val=0.01)
    (batch,) = parts = batches(bilm, n_negatives)[-1]
    real = batch["weights"] > 0
    assert 0 < int(tf.reduce_sum(tf.cast(real, tf.int32))) < tf.size(real)
    before = [np.copy(w) for w in bilm.get_weights()]
    with tf.GradientTape() as tape:
        losses, _ = stream_losses(bilm, batch, zero_state(bilm, 2))
        loss = tf.reduce_mean(tf.boolean_mask(losses, [real] * 2))
        objective = loss * options.unroll_steps
    gradients = tape.gradient(objective, [w.value for w in bilm.trainable_weights])
    gradients = [tf.convert_to_tensor(g).numpy() for g in gradients]
    norm = np.sqrt(sum(np.square(g).sum() for g in gradients))
    assert norm > 0.01
    after, (step_loss, tokens, _), _ = updated(bilm, parts, options)
    assert float(step_loss) == pytest.approx(float(loss), rel=1e-6)
    assert float(tokens) == batch["weights"].numpy().sum()
    for old, new, gradient in zip(before, after, gradients, strict=True):
        gradient = gradient * 0.01 / norm
        expected = old - options.learning_rate * gradient / np.sqrt(1 + gradient**2)
        np.testing.assert_allclose(new, expected, atol=1e-6)  # rounding


def test_words_that_are_no_candidates_keep_their_rows_of_the_softmax(bilm):
    (batch,) = parts = batches(bilm, 1)[0]
    before = bilm.softmax.kernel.numpy()
    updated(bilm, parts)
    changed = np.any(bilm.softmax.kernel.numpy() != before, axis=1)
    assert np.flatnonzero(changed).tolist() == batch["candidates"].numpy().tolist()
    assert len(batch["candidates"]) < len(VOCABULARY)


@pytest.mark.parametrize("name", ["adagrad", "adam"])
@pytest.mark.parametrize("n_negatives", [None, 3])
def test_parts_give_the_update_of_the_whole(bilm, n_negatives, name):
    # The rows are of unequal length, and one of them is over in the last batch.
    for whole, divided in zip(
        batches(bilm, n_negatives), batches(bilm, n_negatives, n_parts=2)
    ):
        expected, results, _ = updated(bilm, whole, name=name)
        actual, results_of_parts, _ = updated(bilm, divided, name=name)
        assert len(divided) == 2
        for a, b in zip(
            [*actual, *tf.nest.flatten(results_of_parts)],
            [*expected, *tf.nest.flatten(results)],
            strict=True,
        ):
            # Sums in another order; Adam divides by gradients near 0.
            np.testing.assert_allclose(a, b, atol=1e-5 if name == "adagrad" else 1e-3)


@pytest.mark.parametrize("n_negatives", [None, 3])
def test_the_softmax_can_be_trained_alone(bilm, n_negatives):
    before = [np.copy(w) for w in bilm.get_weights()]
    parts = batches(bilm, n_negatives)[0]
    after, _, optimizer = updated(bilm, parts, only_softmax=True)
    softmax = [any(w is s for s in bilm.softmax.weights) for w in bilm.weights]
    assert [np.any(a != b) for a, b in zip(after, before)] == softmax
    # The others' accumulators stay at 1 too.
    sums = optimizer.variables[2:]
    trainable = {id(w) for w in bilm.softmax.weights}
    for weight, accumulator in zip(bilm.trainable_weights, sums, strict=True):
        assert np.any(accumulator.numpy() != 1) == (id(weight) in trainable)


def test_dropout_is_a_function_of_the_seed(config):
    bilm = BidirectionalLanguageModel(config, len(VOCABULARY), dropout=0.5)
    bilm.build()
    (batch,) = batches(bilm)[0]

    def losses(seed):
        step = stream_losses(bilm, batch | {"seed": seed}, zero_state(bilm, 2))
        return step[0].numpy().tolist()

    first, other = tf.constant([1, 0]), tf.constant([1, 1])
    assert losses(first) == losses(first) != losses(other)


@pytest.mark.slow
@pytest.mark.parametrize("n_negatives", [3, None])
def test_training_makes_the_text_more_probable(config, n_negatives):
    keras.utils.set_random_seed(0)
    bilm = BidirectionalLanguageModel(config, len(VOCABULARY), dropout=0.1)
    bilm.build()
    before = perplexity(bilm, CORPUS, VOCABULARY)
    optimizer = make_optimizer()
    optimizer.build(bilm.trainable_weights)
    step = tf.function(
        lambda parts, state: train_step(bilm, optimizer, parts, state, OPTIONS),
        autograph=False,
        reduce_retracing=True,
    )
    state = zero_state(bilm, 2)
    # In several orders, none of which is to be learnt by heart.
    epochs = [batches(bilm, n_negatives, epoch=epoch) for epoch in range(8)]
    for parts in 10 * [parts for epoch in epochs for parts in epoch]:
        _, _, state = step(parts, state)
    after = perplexity(bilm, CORPUS, VOCABULARY)
    # Seeds give 0.46 to 0.83; so short a text leaves not much to learn.
    assert after.forward < 0.9 * before.forward
    assert after.backward < 0.9 * before.backward


def test_a_softmax_of_another_size_than_the_vocabulary_is_refused(config):
    bilm = BidirectionalLanguageModel(config, 4)
    with pytest.raises(ValueError, match="over the 6 words .*size: 4"):
        perplexity(bilm, CORPUS, VOCABULARY)
    with pytest.raises(ValueError, match="at least one sentence"):
        perplexity(bilm, Corpus.of([]), VOCABULARY)
