"""The best tags and their probabilities against brute force over all tag sequences."""

import itertools

import numpy as np
import pytest

from elmo_keras.heads.tagger.decoding import TagDecoder
from elmo_keras.heads.tagger.entities import constraints, entities
from tests.support.crf import LENGTHS, MASK, TAGS, by_hand, random_crf, random_scores


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
def test_the_best_tags_and_their_probabilities_are_those_of_brute_force(allowed):
    crf, scores = random_crf("float32", scale=2.0).only(allowed), random_scores(5, 5)
    scores[:, :, 1] += 2  # by the scores alone, I-X would come first
    scores = scores.astype("float32")
    expected = [best_and_probable(crf, x, n) for x, n in zip(scores, LENGTHS)]
    ids, alone, after = crf.decode(scores[MASK], LENGTHS)
    flat = [*map(np.concatenate, zip(*expected))]
    np.testing.assert_array_equal(ids, flat[0])
    np.testing.assert_allclose(alone, flat[1], atol=1e-5)
    np.testing.assert_allclose(after, flat[2], atol=1e-5)
    orphans = [
        after == 1 and before not in (0, 1)
        for best, *_ in expected
        for before, after in itertools.pairwise((None, *best))
    ]
    assert any(orphans) == (allowed is None)


@pytest.mark.parametrize(
    "allowed", [None, constraints(TAGS), "no CRF"], ids=["any", "BIO", "no CRF"]
)
def test_the_probability_of_a_span_is_a_sum_over_sequences(allowed):
    scores = random_scores(5, 5).astype("float32")
    scores[:, :, 1] += 2  # so that spans have several tokens
    if allowed == "no CRF":
        crf, weights = None, random_crf("float32", scale=0.0)
    else:
        crf = weights = random_crf("float32", scale=1.0).only(allowed)
    decoder, sizes = TagDecoder(TAGS, crf), set()
    rows = decoder.label(scores[MASK], LENGTHS)
    tags = decoder.best_tags(scores[MASK], LENGTHS)
    for x, spans, best in zip(scores, rows, tags, strict=True):
        assert [(s.first, s.end, s.label) for s in spans] == entities(best)
        sequences, totals = by_hand(weights, x, len(best))
        p, ids = np.exp(totals), np.array([TAGS.index(tag) for tag in best])
        for span in spans:
            at = slice(span.first, span.end)
            same = np.all(sequences[:, at] == ids[at], axis=1)
            assert span.score == pytest.approx(p[same].sum() / p.sum(), rel=1e-5)
            sizes.add(span.end - span.first)
    assert max(sizes) > 1
