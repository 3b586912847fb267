"""The model that answers questions, and its command."""

import itertools
import json
import os

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize

from elmo_keras import Elmo, ElmoConfig
from elmo_keras.tasks.answer import TASK, main
from elmo_keras.tasks.models.answerer import NO_ANSWER, NOT_KNOWN, Answerer
from elmo_keras.tasks.models.attention_flow import AttentionFlow, SelfAttention
from elmo_keras.tasks.models.token_vectors import TokenVectors

NAMES = ["Ann", "Bob", "Cem", "Dora", "Eun", "Fay"]
TOWNS = ["Rome", "Paris", "Busan", "Lima", "Oslo", "Kyiv"]


def answerer(elmo_at=None, unanswerable=True, **kwargs):
    elmo = None
    if elmo_at:
        elmo = Elmo(ElmoConfig.preset("test"), 2 if elmo_at == "both" else 1)
    vectors = TokenVectors(["ann", "who"], 5, 4, elmo, elmo_at or "input", dropout=0.0)
    model = Answerer(vectors, unanswerable, units=3, dropout=0.0, **kwargs)
    model.build()
    return randomize(model)


def inputs(contexts, questions):
    texts = {"context": contexts, "question": questions}
    return {name: tf.ragged.constant(t).to_tensor() for name, t in texts.items()}


CONTEXTS = [["Ann", "saw", "Bob", "in", "Rome"], ["Fay", "?"], ["a", "b", "c"]]
QUESTIONS = [["Who", "?"], ["Where", "is", "Fay"], ["x"]]


def softmax(x):
    return np.exp(x - x.max()) / np.exp(x - x.max()).sum()


def test_attention_is_that_of_the_equations():
    rng = np.random.default_rng(0)
    h, q = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 4, 3))
    flow = AttentionFlow()
    flow.build(h.shape)
    u, v, w = (x.numpy() for x in randomize(flow).weights)
    lengths, other = [5, 3], [2, 4]
    masks = (
        np.arange(5) < np.array(lengths)[:, None],
        np.arange(4) < np.array(other)[:, None],
    )
    actual = flow(h.astype("float32"), q.astype("float32"), *masks)
    for b, (n, m) in enumerate(zip(lengths, other)):
        a = np.array(
            [[u @ x + v @ y + (w * x) @ y for y in q[b, :m]] for x in h[b, :n]]
        )
        weights = softmax(a.max(axis=1))
        summary = weights @ h[b, :n]
        for i in range(n):
            c = softmax(a[i]) @ q[b, :m]
            expected = [*h[b, i], *c, *(h[b, i] * c), *(h[b, i] * summary)]
            np.testing.assert_allclose(actual[b, i], expected, atol=1e-5)


def test_self_attention_leaves_out_the_token_itself_and_padding():
    rng = np.random.default_rng(0)
    h = rng.normal(size=(1, 5, 3))
    attention = SelfAttention()
    attention.build(h.shape)
    u, v, w = (x.numpy() for x in randomize(attention).weights)
    actual = attention(h.astype("float32"), np.arange(5)[None] < 4)
    for i in range(4):
        others = [j for j in range(4) if j != i]
        a = np.array(
            [u @ h[0, i] + v @ h[0, j] + (w * h[0, i]) @ h[0, j] for j in others]
        )
        c = softmax(a) @ h[0, others]
        np.testing.assert_allclose(
            actual[0, i], [*h[0, i], *c, *(h[0, i] * c)], atol=1e-5
        )


@pytest.mark.parametrize("unanswerable", [False, True])
def test_the_loss_is_minus_log_p_among_all_pairs_of_ends(unanswerable):
    model = answerer(unanswerable=unanswerable)
    batch = inputs(CONTEXTS, QUESTIONS)
    starts, ends, none = (x.numpy() for x in model(batch))
    labels = [(2, 4), (NO_ANSWER, NO_ANSWER), (NOT_KNOWN, NOT_KNOWN)]
    losses = []
    for b, (first, last) in enumerate(labels[: 1 + unanswerable]):
        n = len(CONTEXTS[b])
        pairs = itertools.product(starts[b, :n], ends[b, :n])
        total = sum(np.exp(s + e) for s, e in pairs) + unanswerable * np.exp(none[b])
        right = none[b] if first < 0 else starts[b, first] + ends[b, last]
        losses.append(np.log(total) - right)
    actual = model.compute_loss(batch, tf.constant(labels), model(batch))
    assert float(actual) == pytest.approx(np.mean(losses), rel=1e-5)


@pytest.mark.parametrize("elmo_at", [None, "input", "output", "both"])
def test_padding_changes_no_score(elmo_at):
    model = answerer(elmo_at)
    together = model(inputs(CONTEXTS, QUESTIONS))
    for b in range(3):
        starts, ends, none = model(inputs(CONTEXTS[b : b + 1], QUESTIONS[b : b + 1]))
        n = len(CONTEXTS[b])
        np.testing.assert_allclose(together[0][b, :n], starts[0], atol=1e-5)
        np.testing.assert_allclose(together[1][b, :n], ends[0], atol=1e-5)
        np.testing.assert_allclose(together[2][b], none[0], atol=1e-5)
        assert np.all(together[0][b, n:] < -1e8)


def test_given_layers_stand_in_for_the_language_model():
    model = answerer("both")
    batch = inputs(CONTEXTS, QUESTIONS)
    elmo = model.token_vectors.elmo
    layers = {f"{name}_layers": elmo.layers(tokens) for name, tokens in batch.items()}
    for actual, expected in zip(model(batch | layers), model(batch)):
        np.testing.assert_allclose(actual, expected, atol=1e-5)


def test_a_loaded_model_answers_the_same(tmp_path):
    model = answerer("both")
    model.save(tmp_path / "answerer.keras")
    loaded = keras.models.load_model(tmp_path / "answerer.keras")
    batch = inputs(CONTEXTS, QUESTIONS)
    for actual, expected in zip(loaded(batch), model(batch)):
        np.testing.assert_array_equal(actual, expected)
    text = "Ann met Bob (of Busan) in 2018, didn't she?"
    assert loaded.answer(text, "Where?") in text
    with pytest.raises(ValueError, match="at least one word. Received: ' ' and"):
        model.answer(" ", "Who?")


def town_questions(n, rng):
    """Who moved, and where to; every third question is about something else."""
    paragraphs = []
    for i in range(n):
        (moved, other), town = rng.permutation(NAMES)[:2], rng.choice(TOWNS)
        context = f"{moved} moved to {town} with {other}."
        asked, answer = [
            ("Who moved?", moved),
            ("Where to?", town),
            ("How old?", None),
        ][i % 3]
        answers = (
            [{"text": answer, "answer_start": context.index(answer)}] if answer else []
        )
        question = {"id": str(i), "question": asked, "answers": answers}
        question["is_impossible"] = not answers
        paragraphs.append({"context": context, "qas": [question]})
    return {"version": "v2.0", "data": [{"paragraphs": paragraphs}]}


def write_towns(folder, **sizes):
    rng = np.random.default_rng(0)
    for name, size in sizes.items():
        (folder / f"{name}.json").write_text(json.dumps(town_questions(size, rng)))


@pytest.mark.slow
def test_the_command_learns_who_moved_and_where_to(tmp_path, capsys):
    write_towns(tmp_path, train=300, dev=48)
    output = tmp_path / "out"
    options = (
        f"--train {tmp_path}/train.json --dev {tmp_path}/dev.json --output {output}"
    )
    options += " --units 20 --word-dim 20 --character-dim 2 --dropout 0 --epochs 4"
    options += " --learning-rate 0.01 --layer-dropout 0 --batch-size 16"
    assert main(TASK, None, options.split()) == 0
    (record,) = json.loads((output / "results.json").read_text())
    with capsys.disabled():
        print(f"\nQuestions about towns: {record['dev']}, {record['seconds']} s")
    # By chance: one of three questions.
    assert record["dev"]["exact match"] > 0.8 and record["dev"]["no answer"] > 0.8
    model = keras.models.load_model(output / "baseline-1.keras")
    assert model.answer("Dora moved to Lima with Bob.", "Who moved?") == "Dora"


def test_a_malformed_file_ends_the_command_before_anything_is_written(tmp_path, capsys):
    write_towns(tmp_path, train=3)
    (tmp_path / "bad.json").write_text('{"data": [\n  {"paragraphs": [}]}')
    options = f"--train {tmp_path}/train.json --dev {tmp_path}/bad.json"
    options += f" --output {tmp_path}/out"
    assert main(TASK, None, options.split()) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and f"{tmp_path}/bad.json:2: no JSON" in error
    assert sorted(os.listdir(tmp_path)) == ["bad.json", "train.json"]
