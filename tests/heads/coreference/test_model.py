"""The model of coreference."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.heads import Coreference, CoreferenceModel
from elmo_keras.heads.coreference.model import (
    DISTANCES,
    AntecedentScores,
    SpanVectors,
    document_inputs,
)
from tests.support.models import randomize
from tests.support.task_models import SENTENCES, SPEAKERS, built, token_vectors

INPUTS = document_inputs(SENTENCES, SPEAKERS)


@functools.cache
def coreferent(**options):
    """A model that keeps all spans."""
    sizes = {"units": 3, "hidden_units": 7, "longest": 2, "dropout": 0.0}
    options = sizes | {"mentions_per_token": 9.0} | options
    return built(CoreferenceModel(token_vectors(words=("ann", "bob")), **options))


def test_the_loss_is_minus_log_of_the_sum_over_right_antecedents():
    model, batch = coreferent(), INPUTS
    gold = {(0, 0): 0, (4, 4): 0, (7, 7): 0, (2, 2): 1, (5, 5): 1}
    outputs = {name: x.numpy() for name, x in model(batch).items()}
    spans = list(zip(outputs["first"].tolist(), outputs["last"].tolist()))
    assert len(spans) == 4 + 3 + 1 + 3 + 2 and spans == sorted(spans)
    losses = []
    for i, span in enumerate(spans):
        p = np.exp(outputs["scores"][i]) / np.exp(outputs["scores"][i]).sum()
        right = [
            p[k + 1]
            for k, j in enumerate(outputs["antecedents"][i])
            if j < i and span in gold and gold.get(spans[j]) == gold[span]
        ]
        losses.append(-np.log(sum(right) if right else p[0]))
    labels = tf.constant([[(*span, number) for span, number in gold.items()]])
    actual = model.compute_loss(batch, labels, model(batch))
    assert float(actual) == pytest.approx(np.mean(losses), rel=1e-5)
    none = model.compute_loss(batch, tf.zeros((1, 0, 3), tf.int32), model(batch))
    first = tf.nn.log_softmax(outputs["scores"])[:, 0]
    assert float(none) == pytest.approx(-np.mean(first), rel=1e-5)


def test_the_spans_of_highest_score_are_kept():
    model = coreferent(mentions_per_token=0.3)
    everything, batch = coreferent(), INPUTS
    h, x, mask = everything.encoder(batch["sentences"])
    spans = everything.spans(x, h, mask)
    hidden = everything.mention_hidden(spans.vectors)
    scores = everything.mention_scores(hidden).numpy()[:, 0]
    best = sorted(np.argsort(scores)[-3:])  # 0.3 of 8 tokens, rounded up
    outputs = model(batch)
    assert outputs["first"].numpy().tolist() == spans.first.numpy()[best].tolist()
    assert outputs["last"].numpy().tolist() == spans.last.numpy()[best].tolist()


def test_with_singletons_the_loss_has_whether_spans_are_mentions():
    model = coreferent(singletons=True)
    assert not coreferent().singletons and "mention_scores" not in coreferent()(INPUTS)
    outputs = model(INPUTS)
    gold = {(0, 0): 0, (4, 4): 0, (5, 6): 1}
    labels = tf.constant([[(*span, number) for span, number in gold.items()]])
    spans = zip(outputs["first"].numpy(), outputs["last"].numpy())
    is_mention = np.array([span in gold for span in spans])
    assert is_mention.sum() == 3
    p = 1 / (1 + np.exp(-outputs["mention_scores"].numpy()))
    expected = -np.mean(np.log(np.where(is_mention, p, 1 - p)))
    link_loss = coreferent().compute_loss(INPUTS, labels, outputs)
    actual = model.compute_loss(INPUTS, labels, outputs)
    assert float(actual) == pytest.approx(float(link_loss) + expected, rel=1e-5)


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
    parts = {name: getattr(layer, name) for name in layer.parts}
    dense = {k: x.kernel.numpy() for k, x in parts.items() if hasattr(x, "kernel")}
    distances = layer.distances.embeddings.numpy()
    same = layer.same_speaker.embeddings.numpy()
    mentions = g.astype("float32"), s.astype("float32"), tf.constant(speakers)
    places, scores = layer(*mentions)
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
                inside = slice(first, last + 1)
                scores = np.exp(h[sentence, inside] @ kernel[:, 0] + bias)
                head = scores / scores.sum() @ x[sentence, inside]
                ends = *h[sentence, first], *h[sentence, last]
                vector = [*ends, *head, *widths[last - first]]
                expected.append((before + first, before + last, vector))
    firsts, lasts, vectors = zip(*expected)
    assert spans.first.numpy().tolist() == list(firsts)
    assert spans.last.numpy().tolist() == list(lasts)
    np.testing.assert_allclose(spans.vectors, vectors, atol=1e-5)
