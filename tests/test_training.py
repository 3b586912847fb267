"""Loss, update and evaluation of the language model, against plain NumPy."""

import dataclasses

import numpy as np
import pytest
import reference
import tensorflow as tf
from conftest import published_weights, randomize

from elmo_keras import BidirectionalLanguageModel, Vocabulary
from elmo_keras.corpus import Corpus, stream_batches
from elmo_keras.layers import WordSoftmax
from elmo_keras.perplexity import log_probabilities, perplexity
from elmo_keras.training import (
    TrainingOptions,
    adagrad,
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


def batches(bilm, options=OPTIONS):
    return list(
        stream_batches(
            CORPUS,
            VOCABULARY,
            bilm.config,
            options.batch_size,
            options.unroll_steps,
            seed=(0, 0),
        )
    )


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
    for batch in batches(bilm):
        step, state = stream_losses(bilm, batch, state, OPTIONS)
        losses.append(np.where(batch["weights"] > 0, step, np.nan))
    losses = np.concatenate(losses, axis=2)  # (2, rows, time)
    # Which sentences stand in which row, from the number of their tokens.
    order = np.random.default_rng((0, 0)).permutation(len(SENTENCES))
    rows, lengths = [[], []], [0, 0]
    for i in order:
        shortest = int(np.argmin(lengths))
        rows[shortest].append(SENTENCES[i])
        lengths[shortest] += len(SENTENCES[i]) + 1
    for direction in range(2):
        for r, row in enumerate(rows):
            expected, oracle = [], None
            for sentence in row:
                tokens = ["<S>", *sentence, "</S>"]
                reading = tokens[::-1] if direction else tokens
                some, oracle = expected_losses(bilm, reading, direction, oracle)
                expected.extend(some)
            actual = losses[direction, r]
            np.testing.assert_allclose(actual[~np.isnan(actual)], expected, atol=1e-4)


def test_a_step_is_adagrad_on_the_clipped_gradient_of_the_mean_loss(bilm):
    options = dataclasses.replace(OPTIONS, all_clip_norm_val=0.01)
    batch = batches(bilm)[0]
    optimizer = adagrad(options)
    optimizer.build(bilm.trainable_weights)
    before = [np.copy(w) for w in bilm.get_weights()]
    with tf.GradientTape() as tape:
        losses, _ = stream_losses(bilm, batch, zero_state(bilm, 2), options)
        loss = tf.reduce_mean(tf.boolean_mask(losses, [batch["weights"] > 0] * 2))
        objective = loss * options.unroll_steps
    gradients = tape.gradient(objective, [w.value for w in bilm.trainable_weights])
    gradients = [tf.convert_to_tensor(g).numpy() for g in gradients]
    norm = np.sqrt(sum(np.square(g).sum() for g in gradients))
    assert norm > 0.01
    step_loss, tokens, _ = train_step(
        bilm, optimizer, batch, zero_state(bilm, 2), options
    )
    assert float(step_loss) == pytest.approx(float(loss), rel=1e-6)
    assert float(tokens) == batch["weights"].numpy().sum()
    for old, new, gradient in zip(before, bilm.get_weights(), gradients):
        gradient = gradient * 0.01 / norm
        expected = old - options.learning_rate * gradient / np.sqrt(1 + gradient**2)
        np.testing.assert_allclose(new, expected, atol=1e-6)


@pytest.mark.parametrize("negatives", [3, 8192])
def test_training_makes_the_text_more_probable(config, negatives):
    options = dataclasses.replace(OPTIONS, n_negative_samples_batch=negatives)
    bilm = BidirectionalLanguageModel(config, len(VOCABULARY), dropout=0.1)
    bilm.build()
    before = perplexity(bilm, CORPUS, VOCABULARY)
    optimizer = adagrad(options)
    optimizer.build(bilm.trainable_weights)
    step = tf.function(
        lambda batch, state: train_step(bilm, optimizer, batch, state, options),
        reduce_retracing=True,
    )
    state = zero_state(bilm, 2)
    for _ in range(40):
        for batch in batches(bilm):
            _, _, state = step(batch, state)
    after = perplexity(bilm, CORPUS, VOCABULARY)
    assert after.forward < 0.8 * before.forward
    assert after.backward < 0.8 * before.backward


def test_the_sampled_loss_is_near_the_full_one_when_almost_all_words_are_drawn():
    tf.random.set_seed(0)
    softmax = WordSoftmax(50)
    x = tf.random.normal((2000, 5))
    targets = tf.random.uniform((2000,), 0, 50, tf.int32)
    full = tf.reduce_mean(softmax.losses_of(x, targets))
    sampled = tf.reduce_mean(softmax.sampled_losses_of(x, targets, 49))
    assert float(sampled) == pytest.approx(float(full), rel=0.05)


def test_a_softmax_of_another_size_than_the_vocabulary_is_refused(config):
    bilm = BidirectionalLanguageModel(config, 4)
    with pytest.raises(ValueError, match="over the 6 words .*size: 4"):
        perplexity(bilm, CORPUS, VOCABULARY)
    with pytest.raises(ValueError, match="at least one sentence"):
        perplexity(bilm, Corpus.of([]), VOCABULARY)
