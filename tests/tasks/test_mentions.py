"""Documents as inputs; spans and antecedents against the equations."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks.coreference import CoreferenceModel, document_inputs
from elmo_keras.tasks.mentions import (
    DISTANCES,
    AntecedentScores,
    SpanVectors,
)
from elmo_keras.tasks.task import Coreference
from tests.support.models import randomize
from tests.support.task_models import SENTENCES, SPEAKERS, token_vectors


def test_inputs_without_tokens_or_speakers_are_refused():
    with pytest.raises(ValueError, match=r"Received: \[2\] tokens and \[1\]"):
        document_inputs([["a", "b"]], [["x"]])
    for sentences in ([["a", ""]], [[]]):
        with pytest.raises(ValueError, match="should hold tokens, none of them empty"):
            document_inputs(sentences)


def test_a_batch_is_a_document_with_the_cached_layers_of_its_sentences():
    document = {"sentences": SENTENCES, "speakers": SPEAKERS}
    model = CoreferenceModel(token_vectors(), units=2)
    assert Coreference().texts([document] * 2) == 2 * SENTENCES

    def lengths(sentences):
        return np.float32([[len(sentence)] for sentence in sentences])

    batches = model.batches([document] * 3, cache=lengths)
    assert [len(rows) for rows in batches.by_length()] == [1, 1, 1]
    inputs = batches.inputs([0])
    assert inputs["sentences"].shape == inputs["speakers"].shape == (3, 4)
    assert inputs["sentences_layers"].numpy().tolist() == [[4], [1], [3]]


@pytest.mark.parametrize("n_best", [2, 50])
def test_antecedents_are_the_likeliest_earlier_mentions_with_their_scores(n_best):
    rng = np.random.default_rng(0)
    g, s = rng.normal(size=(7, 3)), rng.normal(size=7)
    speakers = np.array(list("abaabba"))
    layer = AntecedentScores(n_best, units=5, feature_dim=2)
    layer.build(g.shape)
    randomize(layer)
    dense = {
        name: getattr(layer, name).kernel.numpy()
        for name in (
            "pair_projection",
            "mention_projection",
            "earlier_projection",
            "features_projection",
            "scores",
        )
    }
    distances, same = (
        e.embeddings.numpy() for e in (layer.distances, layer.same_speaker)
    )
    places, scores = layer(
        g.astype("float32"), s.astype("float32"), tf.constant(speakers)
    )
    assert scores.shape == (7, min(n_best, 7))
    for i in range(7):
        coarse = [s[i] + s[j] + g[i] @ layer.bilinear.numpy() @ g[j] for j in range(i)]
        best = sorted(range(i), key=lambda j: -coarse[j])[:n_best]
        assert places[i, : len(best)].numpy().tolist() == best
        assert np.all(scores[i, len(best) :] < -1e8)
        for k, j in enumerate(best):
            bucket = sum(i - j >= d for d in DISTANCES) - 1
            features = [*distances[bucket], *same[int(speakers[i] == speakers[j])]]
            hidden = (
                g[i] @ dense["mention_projection"]
                + g[j] @ dense["earlier_projection"]
                + (g[i] * g[j]) @ dense["pair_projection"]
                + layer.pair_projection.bias.numpy()
                + features @ dense["features_projection"]
            )
            fine = np.maximum(hidden, 0) @ dense["scores"] + layer.scores.bias.numpy()
            assert float(scores[i, k]) == pytest.approx(coarse[j] + fine[0], abs=1e-4)


def test_spans_are_all_short_pieces_of_sentences_with_their_vectors():
    rng = np.random.default_rng(0)
    lengths = [4, 0, 1, 5]
    x, h = rng.normal(size=(4, 5, 3)), rng.normal(size=(4, 5, 2))
    layer = SpanVectors(longest=3, width_dim=2)
    layer.build(h.shape)
    randomize(layer)
    kernel, bias, widths = (w.numpy() for w in layer.weights)
    mask = np.arange(5) < np.array(lengths)[:, None]
    spans = layer(x.astype("float32"), h.astype("float32"), mask)
    expected = []
    for sentence, n in enumerate(lengths):
        before = sum(lengths[:sentence])
        for first in range(n):
            for last in range(first, min(n, first + 3)):
                own = slice(first, last + 1)
                scores = np.exp(h[sentence, own] @ kernel[:, 0] + bias)
                head = scores / scores.sum() @ x[sentence, own]
                ends = *h[sentence, first], *h[sentence, last]
                vector = [*ends, *head, *widths[last - first]]
                expected.append((before + first, before + last, vector))
    firsts, lasts, vectors = zip(*expected)
    assert spans.first.numpy().tolist() == list(firsts)
    assert spans.last.numpy().tolist() == list(lasts)
    np.testing.assert_allclose(spans.vectors, vectors, atol=1e-5)
