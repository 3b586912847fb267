"""The CRF in NumPy and in TensorFlow, against brute force over all tag sequences."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks import LinearChainCRF
from elmo_keras.tasks.crf import Crf, tag_log_probabilities
from elmo_keras.tasks.entities import constraints, span_probabilities, tag_spans

RNG = np.random.default_rng(0)
TAGS = ["B-X", "I-X", "O"]
N_TAGS = len(TAGS)
LENGTHS = np.array([5, 1, 0, 4, 2])
MASK = np.arange(5) < LENGTHS[:, None]


def random_crf(dtype="float64", scale=0.5):
    shapes = (N_TAGS, N_TAGS), (N_TAGS,), (N_TAGS,)
    return Crf(*((scale * RNG.normal(size=shape)).astype(dtype) for shape in shapes))


def random_scores(*shape):
    return RNG.normal(size=(*shape, N_TAGS)) * 2


def by_hand(crf, scores, length):
    """All tag sequences of a sentence with their scores, straight from the equation."""
    sequences = list(itertools.product(range(N_TAGS), repeat=length))
    totals = [
        (crf.first[y[0]] + crf.last[y[-1]] if y else 0)
        + sum(scores[t, tag] for t, tag in enumerate(y))
        + sum(crf.transitions[pair] for pair in itertools.pairwise(y))
        for y in sequences
    ]
    return np.reshape(sequences, (len(totals), length)), np.array(totals)


def best_and_probable(crf, scores, length):
    """The best tags, their probabilities alone, and after the tag before."""
    sequences, totals = by_hand(crf, scores, length)
    best, p = sequences[np.argmax(totals)], np.exp(totals)

    def share(*places):
        same = [sequences[:, t] == best[t] for t in places]
        return p[np.all(same, axis=0)].sum() if places else p.sum()

    alone = [share(t) / share() for t in range(length)]
    after = [share(t - 1, t) / share(t - 1) for t in range(1, length)]
    return best, alone, [1.0, *after][:length]


@pytest.mark.parametrize("allowed", [None, constraints(TAGS)], ids=["any", "BIO"])
def test_numpy_and_tensorflow_find_the_best_tags_and_their_probabilities(allowed):
    crf, scores = random_crf("float32").only(allowed), random_scores(5, 5)
    scores[:, :, 1] += 2  # by the scores alone, I-X would come first
    scores = scores.astype("float32")
    expected = [best_and_probable(crf, x, n) for x, n in zip(scores, LENGTHS)]
    ids, alone, after = map(np.concatenate, zip(*expected))

    in_numpy = crf.decode(scores[MASK], LENGTHS)
    tags = crf.best_tags(tf.constant(scores), tf.constant(MASK))
    logs = tag_log_probabilities(tf.constant(scores), tags, crf)
    in_graph = tags.numpy()[MASK], *(np.exp(x.numpy()[MASK]) for x in logs)
    first = np.cumsum(LENGTHS)[LENGTHS > 0] - LENGTHS[LENGTHS > 0]
    in_graph[2][first] = 1  # the first tag follows none
    for actual in in_numpy, in_graph:
        np.testing.assert_array_equal(actual[0], ids)
        np.testing.assert_allclose(actual[1], alone, atol=1e-5)
        np.testing.assert_allclose(actual[2], after, atol=1e-5)
    assert np.all(tags.numpy()[~MASK] == -1)
    assert not any(np.any(x.numpy()[~MASK]) for x in logs)
    orphans = [
        after == 1 and before not in (0, 1)
        for best, *_ in expected
        for before, after in itertools.pairwise((None, *best))
    ]
    assert any(orphans) == (allowed is None)


def test_the_partition_and_probabilities_are_sums_over_all_sequences():
    crf, scores = random_crf(), random_scores(5, 5)
    totals = [by_hand(crf, x, n)[1] for x, n in zip(scores, LENGTHS)]
    expected = [*map(np.logaddexp.reduce, totals)]
    # Sums of 243 terms in float64 in another order.
    np.testing.assert_allclose(crf.log_partition(scores, MASK), expected, atol=1e-12)
    sequences, totals = by_hand(crf, scores[0], 4)
    mask = np.ones(sequences.shape, bool)
    repeated = np.repeat(scores[:1, :4], len(sequences), axis=0)
    actual = crf.log_likelihood(repeated, sequences, mask).numpy()
    np.testing.assert_allclose(actual, totals - np.logaddexp.reduce(totals), atol=1e-12)
    assert np.exp(actual).sum() == pytest.approx(1, abs=1e-12)


def test_values_at_padding_change_nothing():
    crf, scores = random_crf(), random_scores(5, 5)
    tags = np.where(MASK, RNG.integers(N_TAGS, size=MASK.shape), -1)
    expected = crf.log_likelihood(scores, tags, MASK), crf.best_tags(scores, MASK)
    other = np.where(MASK[..., None], scores, 1e3)
    actual = crf.log_likelihood(other, tags, MASK), crf.best_tags(other, MASK)
    np.testing.assert_array_equal(actual[0], expected[0])
    np.testing.assert_array_equal(actual[1], expected[1])
    pads = [(0, 0), (0, 2), (0, 0)]
    wider = [np.pad(x, pads[: x.ndim]) for x in (scores, tags, MASK)]
    np.testing.assert_array_equal(crf.log_likelihood(*wider), expected[0])


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
def test_an_empty_batch_and_empty_sentences_are_legal(shape):
    crf = LinearChainCRF(N_TAGS)
    mask = np.ones(shape, bool)
    scores, tags = np.ones((*shape, N_TAGS), "float32"), np.zeros(shape, int)
    assert crf(scores, mask=mask).shape == shape
    likelihood = crf.log_likelihood(scores, tags, mask).numpy()
    np.testing.assert_array_equal(likelihood, np.zeros(shape[0]))
    spans = tag_spans(tf.zeros(shape, tf.int32), TAGS)
    assert spans.begins.shape == shape and not np.any(spans.count)


def test_the_layer_computes_in_single_precision_at_least_and_checks_constraints():
    crf = LinearChainCRF(N_TAGS, constraints(TAGS), dtype="mixed_bfloat16")
    crf.build()
    scores = tf.cast(random_scores(5, 5), "bfloat16")
    tags = RNG.integers(N_TAGS, size=MASK.shape)
    likelihood = crf.log_likelihood(scores, tags, MASK)
    assert likelihood.dtype == tf.float32 and np.isfinite(likelihood).all()
    assert "I-X" not in [TAGS[i] for i in crf(scores, mask=MASK)[:, 0] if i >= 0]
    for table in (np.zeros((4, 3)).tolist(), [[True] * 3] * 3):
        with pytest.raises(ValueError, match=r"shape \(4, 3\) and a tag in each row"):
            LinearChainCRF(N_TAGS, allowed=table)


ROWS = [[0, 1, 1, 2, 0], [0], [], [1, 0, 0, 2], [2, 0]]  # of tags
IDS = tf.ragged.constant(ROWS, tf.int32).to_tensor(-1)


@pytest.mark.parametrize("allowed", [None, constraints(TAGS)], ids=["no CRF", "BIO"])
def test_the_probability_of_a_span_is_a_sum_over_sequences(allowed):
    crf = random_crf("float32", scale=1.0).only(allowed)
    if allowed is None:
        crf = Crf(*(np.zeros_like(weight) for weight in crf))
    scores = random_scores(5, 5).astype("float32")
    logs = tag_log_probabilities(tf.constant(scores), IDS, crf if allowed else None)
    spans = tag_spans(IDS, TAGS)
    assert spans.count.numpy().tolist() == [2, 1, 0, 3, 1]
    of_spans = span_probabilities(spans, *logs).numpy()
    for row, tags in enumerate(ROWS):
        sequences, totals = by_hand(crf, scores[row], len(tags))
        p, n = np.exp(totals), int(spans.count[row])
        places = zip(spans.begins[row, :n].numpy(), spans.ends[row, :n].numpy())
        for (begin, end), actual in zip(places, of_spans[row, :n], strict=True):
            same = np.all(sequences[:, begin:end] == tags[begin:end], axis=1)
            assert actual == pytest.approx(p[same].sum() / p.sum(), rel=1e-5)
        assert not np.any(of_spans[row, n:])


def test_a_sentence_of_thousands_of_tokens_keeps_its_precision():
    """The same tokens over and over: in the middle, nothing changes any more."""
    crf = random_crf("float32", scale=1.0).only(constraints(TAGS))
    scores = tf.constant(np.tile([[[200.0, 199.0, 1.0]]], (1, 5000, 1)), tf.float32)
    marginals = tf.function(crf.log_marginals, autograph=False)  # 5,000 steps
    log_p, _ = marginals(scores, tf.ones((1, 5000), bool))
    short, _ = crf.log_marginals(scores[:, :101], tf.ones((1, 101), bool))
    np.testing.assert_allclose(np.exp(log_p).sum(axis=2), 1, atol=1e-5)
    np.testing.assert_allclose(log_p[0, 2500], short[0, 50], atol=1e-4)
