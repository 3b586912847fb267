"""The model of coreference, and its command."""

import json
import os

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize

from elmo_keras import Elmo, ElmoConfig
from elmo_keras.model_directory import save_model
from elmo_keras.tasks.coreference import TASK, main, targets
from elmo_keras.tasks.experiments.documents import (
    DocumentBatches,
    document_inputs,
    windows,
)
from elmo_keras.tasks.experiments.layer_cache import LayerCache
from elmo_keras.tasks.models.antecedent_scores import DISTANCES, AntecedentScores
from elmo_keras.tasks.models.coreferent import Coreferent, clusters
from elmo_keras.tasks.models.span_vectors import SpanVectors
from elmo_keras.tasks.models.token_vectors import TokenVectors
from elmo_keras.tasks.readers.conll_2012 import read_conll_2012

SENTENCES = [["Ann", "met", "Bob", "."], ["She"], ["He", "saw", "her"]]
SPEAKERS = [["a"] * 4, ["b"], ["a"] * 3]


def coreferent(elmo_at=None, **kwargs):
    elmo = None
    if elmo_at:
        elmo = Elmo(ElmoConfig.preset("test"), 2 if elmo_at == "both" else 1)
    vectors = TokenVectors(["ann", "bob"], 5, 4, elmo, elmo_at or "input", dropout=0.0)
    options = {"units": 3, "hidden_units": 7, "longest": 3, "dropout": 0.0} | kwargs
    model = Coreferent(vectors, **options)
    model.build()
    return randomize(model)


def test_spans_are_all_short_pieces_of_sentences_with_their_vectors():
    rng = np.random.default_rng(0)
    lengths = [4, 0, 1, 5]
    x, h = rng.normal(size=(4, 5, 3)), rng.normal(size=(4, 5, 2))
    layer = SpanVectors(longest=3, width_dim=2)
    layer.build(x.shape, h.shape)
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


@pytest.mark.parametrize("most", [2, 50])
def test_antecedents_are_the_likeliest_earlier_mentions_with_their_scores(most):
    rng = np.random.default_rng(0)
    g, s = rng.normal(size=(7, 3)), rng.normal(size=7)
    speakers = np.array(list("abaabba"))
    layer = AntecedentScores(most, units=5, feature_dim=2)
    layer.build(g.shape)
    randomize(layer)
    dense = {
        name: getattr(layer, name).kernel.numpy()
        for name in ("of_pair", "of_mention", "of_earlier", "of_features", "scores")
    }
    distances, same = (
        e.embeddings.numpy() for e in (layer.distances, layer.same_speaker)
    )
    places, scores = layer(
        g.astype("float32"), s.astype("float32"), tf.constant(speakers)
    )
    assert scores.shape == (7, min(most, 7))
    for i in range(7):
        coarse = [s[i] + s[j] + g[i] @ layer.bilinear.numpy() @ g[j] for j in range(i)]
        best = sorted(range(i), key=lambda j: -coarse[j])[:most]
        assert places[i, : len(best)].numpy().tolist() == best
        assert np.all(scores[i, len(best) :] < -1e8)
        for k, j in enumerate(best):
            bucket = sum(i - j >= d for d in DISTANCES) - 1
            features = [*distances[bucket], *same[int(speakers[i] == speakers[j])]]
            hidden = (
                g[i] @ dense["of_mention"]
                + g[j] @ dense["of_earlier"]
                + (g[i] * g[j]) @ dense["of_pair"]
                + layer.of_pair.bias.numpy()
                + features @ dense["of_features"]
            )
            fine = np.maximum(hidden, 0) @ dense["scores"] + layer.scores.bias.numpy()
            assert float(scores[i, k]) == pytest.approx(coarse[j] + fine[0], abs=1e-4)


def test_the_loss_is_minus_log_of_all_right_antecedents_together():
    model = coreferent(mentions_per_token=9.0, longest=2)
    batch = document_inputs(SENTENCES, SPEAKERS)
    gold = {(0, 0): 0, (4, 4): 0, (7, 7): 0, (2, 2): 1, (5, 5): 1}
    outputs = {name: x.numpy() for name, x in model(batch).items()}
    kept = list(zip(outputs["first"].tolist(), outputs["last"].tolist()))
    assert len(kept) == 4 + 3 + 1 + 3 + 2 and kept == sorted(kept)
    losses = []
    for i, span in enumerate(kept):
        p = np.exp(outputs["scores"][i]) / np.exp(outputs["scores"][i]).sum()
        right = [
            p[k + 1]
            for k, j in enumerate(outputs["antecedents"][i])
            if j < i and span in gold and gold.get(kept[j]) == gold[span]
        ]
        losses.append(-np.log(sum(right) if right else p[0]))
    labels = tf.constant([[(*span, number) for span, number in gold.items()]])
    actual = model.compute_loss(batch, labels, model(batch))
    assert float(actual) == pytest.approx(np.mean(losses), rel=1e-5)
    none = model.compute_loss(batch, tf.zeros((1, 0, 3), tf.int32), model(batch))
    first = tf.nn.log_softmax(outputs["scores"])[:, 0]
    assert float(none) == pytest.approx(-np.mean(first), rel=1e-5)


def test_only_so_many_spans_are_kept_those_of_highest_score():
    model = coreferent(mentions_per_token=0.3)
    batch = document_inputs(SENTENCES, SPEAKERS)
    everything = coreferent(mentions_per_token=9.0)
    everything.set_weights(model.get_weights())
    x, at_output, mask = everything.token_vectors(batch["sentences"])
    spans = everything.span_vectors(x, everything.lstm(x, mask=mask), mask)
    hidden = everything.mention_hidden(spans.vectors)
    scores = everything.mention_scores(hidden).numpy()[:, 0]
    best = sorted(np.argsort(scores)[-3:])  # 0.3 of 8 tokens, rounded up
    outputs = model(batch)
    assert outputs["first"].numpy().tolist() == spans.first.numpy()[best].tolist()
    assert outputs["last"].numpy().tolist() == spans.last.numpy()[best].tolist()


@pytest.mark.parametrize("elmo_at", [None, "both"])
def test_a_loaded_model_finds_the_same(elmo_at, tmp_path):
    model = coreferent(elmo_at, mentions_per_token=1.0)
    model.save(tmp_path / "coreferent.keras")
    loaded = keras.models.load_model(tmp_path / "coreferent.keras")
    batch = document_inputs(SENTENCES, SPEAKERS)
    expected = model(batch)
    for name, actual in loaded(batch).items():
        np.testing.assert_array_equal(actual, expected[name])


def test_a_document_of_strings_is_resolved():
    model = coreferent(mentions_per_token=9.0, longest=1)
    best = model(document_inputs(SENTENCES, SPEAKERS))["scores"].numpy().argmax(axis=1)
    found = model.resolve(SENTENCES, SPEAKERS)
    assert found
    n_mentions = sum(map(len, found))
    assert n_mentions - len(found) == sum(best > 0)
    assert {span for cluster in found for span in cluster} <= {(i, i) for i in range(8)}
    with pytest.raises(ValueError, match=r"Received: \[2\] tokens .* \[1\] speakers"):
        model.resolve([["a", "b"]], [["x"]])
    with pytest.raises(ValueError, match="1 of them empty"):
        model.resolve([["a", ""]])
    with pytest.raises(ValueError, match="should hold tokens"):
        model.resolve([[]])


def test_given_layers_stand_in_for_the_language_model():
    model = coreferent("both")
    elmo = model.token_vectors.elmo
    document = {"sentences": SENTENCES, "speakers": SPEAKERS}
    cache = LayerCache(elmo, DocumentBatches.texts([document], ["sentences"]))
    cached = DocumentBatches([document], ["sentences"], cache=cache).inputs([0])
    plain = DocumentBatches([document], ["sentences"]).inputs([0])
    assert set(cached) - set(plain) == {"sentences_layers"}
    for name, expected in model(plain).items():
        np.testing.assert_allclose(model(cached)[name], expected, atol=1e-5)


def test_links_become_clusters_and_mentions_without_links_none():
    links = [[0, 0, -1], [1, 1, -1], [2, 2, 0], [3, 3, 1], [4, 4, 2], [5, 5, -1]]
    assert clusters(links) == [[(0, 0), (2, 2), (4, 4)], [(1, 1), (3, 3)]]
    assert clusters(np.zeros((0, 3), int)) == []


def test_windows_hold_the_clusters_within_them():
    document = {
        "name": "d",
        "sentences": SENTENCES,
        "speakers": SPEAKERS,
        "clusters": [[(0, 0), (4, 4), (7, 7)], [(2, 2), (5, 5)], [(5, 6), (7, 7)]],
    }
    first, second = windows(document, 2)
    assert first["sentences"] == SENTENCES[:2] and second["sentences"] == SENTENCES[2:]
    assert second["speakers"] == SPEAKERS[2:] and second["name"] == "d"
    assert first["clusters"] == [[(0, 0), (4, 4)]]
    assert second["clusters"] == [[(0, 1), (2, 2)]]
    assert windows(document, 3) == [document]


def test_the_labels_are_spans_with_the_number_of_their_cluster():
    documents = [{"clusters": [[(0, 1), (4, 4)], [(2, 2), (3, 3)]]}, {"clusters": []}]
    first, second = targets(documents, None)
    assert first.tolist() == [[0, 1, 0], [4, 4, 0], [2, 2, 1], [3, 3, 1]]
    assert second.shape == (0, 3) and second.dtype == "int32"


WOMEN, MEN = ["Ann", "Eve", "Dora", "Mary"], ["Bob", "Tom", "Cem", "Paul"]


def stories(n, rng):
    """Two people meet; then one of them does something, whom "she" or "he" tells."""
    text = ""
    for i in range(n):
        pair = [(rng.choice(WOMEN), "She"), (rng.choice(MEN), "He")]
        if rng.random() < 0.5:
            pair.reverse()
        told = int(rng.integers(2))
        entity = ["-", "-"]
        entity[told] = "(0)"
        words = [(pair[0][0], entity[0]), ("met", "-"), (pair[1][0], entity[1]), None]
        words += [(pair[told][1], "(0)"), ("smiled", "-"), None]
        lines = [w and f"d 0 0 {w[0]} X * - - - - * {w[1]}" for w in words]
        body = "\n".join(line or "" for line in lines)
        text += f"#begin document (d{i}); part 000\n{body}\n#end document\n"
    return text


def write_stories(folder, **sizes):
    rng = np.random.default_rng(0)
    for name, size in sizes.items():
        (folder / f"{name}.conll").write_text(stories(size, rng))


@pytest.mark.slow
def test_the_command_learns_who_she_and_he_are(tmp_path, capsys):
    write_stories(tmp_path, train=80, dev=30)
    output = tmp_path / "out"
    options = f"--train {tmp_path}/train.conll --dev {tmp_path}/dev.conll"
    options += f" --output {output} --units 10 --hidden-units 20 --word-dim 20"
    options += " --character-dim 2 --dropout 0 --layer-dropout 0 --epochs 5"
    options += " --learning-rate 0.01 --longest 2 --mentions-per-token 0.8"
    assert main(TASK, None, options.split()) == 0
    (record,) = json.loads((output / "results.json").read_text())
    with capsys.disabled():
        print(f"\nStories of two: {record['dev']}, {record['seconds']} s")
    # By chance: one of two people.
    assert record["dev"]["CoNLL F1"] > 0.85
    model = keras.models.load_model(output / "baseline-1.keras")
    found = model.resolve([["Eve", "met", "Tom"], ["He", "smiled"]])
    assert found == [[(2, 2), (3, 3)]]
    documents = read_conll_2012(tmp_path / "dev.conll")
    assert {len(document["clusters"]) for document in documents} == {1}


@pytest.mark.slow
def test_the_command_trains_with_the_layers_of_a_language_model(tmp_path):
    write_stories(tmp_path, train=6, dev=2)
    elmo = Elmo(ElmoConfig.preset("test"))
    elmo.build()
    save_model(tmp_path / "bilm", elmo.bilm)
    options = f"--train {tmp_path}/train.conll --dev {tmp_path}/dev.conll --epochs 1"
    options += f" --output {tmp_path}/out --elmo {tmp_path}/bilm --elmo-at both"
    options += " --units 3 --hidden-units 3 --sentences 1"
    assert main(TASK, None, options.split()) == 0
    (record,) = json.loads((tmp_path / "out" / "results.json").read_text())
    assert record["cached"] and set(record["mixes"]) == {"input", "output"}
    assert record["examples"] == 12  # 6 of two sentences
    assert (tmp_path / "out" / "elmo-bilm-both-1.keras").exists()


def test_a_malformed_file_ends_the_command_before_anything_is_written(tmp_path, capsys):
    write_stories(tmp_path, train=3)
    bad = tmp_path / "bad.conll"
    bad.write_text(stories(1, np.random.default_rng(0)).replace("(0)", "(0", 1))
    options = f"--train {tmp_path}/train.conll --dev {bad} --output {tmp_path}/out"
    assert main(TASK, None, options.split()) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and f"{bad}:5: (0 doesn't end" in error
    assert sorted(os.listdir(tmp_path)) == ["bad.conll", "train.conll"]
