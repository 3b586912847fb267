"""The model that answers questions, and its command; attention against the equations."""

import functools
import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks import QuestionAnswering, answering
from elmo_keras.tasks.answer_text import (
    NO_ANSWER,
    NOT_KNOWN,
    offset_tokens,
    text_answers,
)
from elmo_keras.tasks.fit import evaluate
from elmo_keras.tasks.task import Answering
from elmo_keras.text.tokens import placed_words
from tests.support import task_models as support
from tests.support.models import randomize
from tests.support.reference import softmax
from tests.support.task_models import built, questions, text_inputs, token_vectors

CONTEXTS = [["Ann", "saw", "Bob", "in", "Rome"], ["Fay", "?"], ["a", "b", "c"]]
QUESTIONS = [["Who", "?"], ["Where", "is", "Fay"], ["x"]]
INPUTS = text_inputs(context=CONTEXTS, question=QUESTIONS)


@functools.cache
def answerer(elmo_at=None, **options):
    vectors = token_vectors(elmo_at, words=["ann", "who"])
    options = {"units": 3, "dropout": 0.0, "unanswerable": True} | options
    return built(QuestionAnswering(vectors, **options))


def answer(model, context, question):
    return model.predict({"context": [context], "question": [question]})[0]


@pytest.mark.parametrize("elmo_at, unanswerable", [(None, False), ("both", True)])
def test_the_loss_is_minus_log_p_of_a_pair_of_ends(elmo_at, unanswerable, eagerly):
    model = answerer(elmo_at, unanswerable=unanswerable)
    outputs = model(INPUTS)
    starts, ends, none = (x.numpy() for x in outputs)
    labels = [(2, 4), (NO_ANSWER, NO_ANSWER), (NOT_KNOWN, NOT_KNOWN)]
    losses = []
    for b, (first, last) in enumerate(labels[: 1 + unanswerable]):
        n = len(CONTEXTS[b])
        pairs = itertools.product(starts[b, :n], ends[b, :n])
        total = sum(np.exp(s + e) for s, e in pairs) + unanswerable * np.exp(none[b])
        right = none[b] if first < 0 else starts[b, first] + ends[b, last]
        losses.append(np.log(total) - right)
    actual = model.compute_loss(INPUTS, tf.constant(labels), outputs)
    assert float(actual) == pytest.approx(np.mean(losses), rel=1e-5)


@pytest.mark.parametrize("time, longest", [(1, 1), (1, 7), (5, 1), (6, 3), (9, 16)])
def test_the_span_is_the_best_of_all(time, longest):
    rng = np.random.default_rng(time)
    starts, ends = rng.normal(size=(2, 11, time)).astype("float32")
    spans = [(i, j) for i in range(time) for j in range(i, min(time, i + longest))]
    found = answering.best_spans(starts, ends, longest)
    found = zip(*(x.numpy().tolist() for x in found))
    for start, end, (span, score) in zip(starts, ends, found, strict=True):
        best = max((start[i] + end[j], [i, j]) for i, j in spans)
        assert (pytest.approx(best[0]), best[1]) == (score, span)


def attention(layer):
    """The layer with random weights, and the score of two vectors by its equation."""
    layer.build((2, 5, 3))
    u, v, w = (x.numpy() for x in randomize(layer).weights)
    return layer, lambda x, y: u @ x + v @ y + (w * x) @ y


def test_attention_follows_the_equations():
    h, q = np.random.default_rng(0).normal(size=(2, 2, 5, 3)).astype("float32")
    flow, score = attention(answering.AttentionFlow())
    lengths, others = [[5], [3]], [[2], [4]]
    actual = flow(h, q[:, :4], np.arange(5) < lengths, np.arange(4) < others)
    for b, ((n,), (m,)) in enumerate(zip(lengths, others)):
        a = np.array([[score(x, y) for y in q[b, :m]] for x in h[b, :n]])
        summary = softmax(a.max(axis=1)) @ h[b, :n]
        for i in range(n):
            c = softmax(a[i]) @ q[b, :m]
            expected = [*h[b, i], *c, *(h[b, i] * c), *(h[b, i] * summary)]
            np.testing.assert_allclose(actual[b, i], expected, atol=1e-5)


def test_self_attention_leaves_out_the_token_itself_and_padding():
    h = np.random.default_rng(0).normal(size=(1, 5, 3)).astype("float32")
    layer, score = attention(answering.SelfAttention())
    actual = layer(h, np.arange(5)[None] < 4)
    for i in range(4):
        others = [h[0, j] for j in range(4) if j != i]
        c = softmax(np.array([score(h[0, i], y) for y in others])) @ np.array(others)
        expected = [*h[0, i], *c, *(h[0, i] * c)]
        np.testing.assert_allclose(actual[0, i], expected, atol=1e-5)


def test_an_answer_has_at_most_the_chosen_number_of_tokens():
    model = answerer(unanswerable=False, longest_answer=3)
    starts, ends = (tf.one_hot([place], 9) for place in (2, 5))
    scores = starts, ends + 0.5 * tf.one_hot([4], 9), tf.constant([-9.0])
    assert model.decode({}, scores).numpy().tolist() == [[2, 4]]


def test_texts_of_answers_are_the_same_in_python_and_in_a_graph():
    endings = ["에서", "서", "n"]
    pairs = [(i, j) for i in range(3) for j in range(i, 4)]
    spans = [span for span in pairs for _ in range(2)]
    texts = ["서울에서는 (Ulm, n) 🙂서 서", "Ann met\u00a0Bob."] * len(pairs)
    expected = [
        offset_tokens(text).answer(text, *span, endings)
        for text, span in zip(texts, spans)
    ]
    words = placed_words(tf.constant(texts))
    answers = {"span": tf.constant(spans), "score": tf.ones(len(spans))}
    found = text_answers(tf.constant(texts), words, words, answers, endings)
    assert [text.decode() for text in found["answer"].numpy()] == expected
    places = zip(found["begin"].numpy(), found["end"].numpy())
    assert [text[slice(*place)] for text, place in zip(texts, places)] == expected
    none = {"span": tf.fill((len(spans), 2), NO_ANSWER), "score": answers["score"]}
    found = text_answers(tf.constant(texts), words, words, none, endings)
    assert not any(found["answer"].numpy()) and np.all(found["begin"] == -1)


def test_an_answer_is_a_piece_of_the_text():
    model = answerer()
    text = "Ann met Bob (of Busan) in 2018, didn't she?"
    assert answer(model, text, "Where?") in text
    whole = answer(answerer(unanswerable=False), "서울에서", "어디?")
    shortening = answerer(unanswerable=False, endings=("에서",))
    short = answer(shortening, "서울에서", "어디?")
    assert (whole, short) == ("서울에서", "서울")
    with pytest.raises(ValueError, match="at least one word. Received: ' ' and"):
        answer(model, " ", "Who?")


@pytest.mark.slow
def test_a_graph_builds_a_model_and_predicts_the_same(unoptimized_graphs):
    keras.utils.clear_session()  # no random numbers were drawn, as in a new process
    vectors = token_vectors(None, words=["ann", "who"])
    new = QuestionAnswering(vectors, unanswerable=True, units=3)
    predicted = new.predict_on_batch(INPUTS)
    np.testing.assert_array_equal(predicted, new.decode(INPUTS, new(INPUTS)))


PARTICLES = ["에서", "에", "으로", "까지", ""]
KOREAN_TOWNS = ["서울", "부산", "대구시", "광주", "울산", "여수"]


def korean_questions(n, rng):
    """Where, and a year; towns are followed by particles. Every fourth has no answer."""
    rows = []
    for i in range(n):
        town, year = rng.choice(KOREAN_TOWNS), str(rng.integers(10, 99))
        context = f"그는 {year}년 {town}{rng.choice(PARTICLES)} 갔다"
        asked = ("어디?", town), ("언제?", year), ("어디?", town), ("왜?", None)
        rows.append((context, *asked[i % 4]))
    return questions(*rows)


@pytest.mark.slow
def test_the_command_learns_where_in_a_word_an_answer_ends(tmp_path, capsys):
    rng = np.random.default_rng(0)
    texts = {"train": korean_questions(260, rng), "dev": korean_questions(48, rng)}
    options = "--metric korquad --units 10 --word-dim 10 --epochs 6 --batch-size 16"
    scores, model = support.trained(Answering, tmp_path, options, capsys, **texts)
    # Whole tokens answer one of ten questions: towns without a particle.
    assert scores["exact match"] > 0.8 and scores["no answer"] > 0.8
    assert answer(model, "그는 47년 대구시까지 갔다", "어디?") == "대구시"
    assert answer(model, "그는 47년 대구시까지 갔다", "언제?") == "47"


def test_answers_that_training_leaves_out_are_reported(tmp_path):
    context = "Ann moved to Rome."
    rows = [(context, "?", *x) for x in (("Ann", 0), ("moved", 3))]
    path = tmp_path / "a.json"
    path.write_text(questions(*rows))
    task = Answering()
    with pytest.warns(UserWarning, match="a.json: answers that are not at .*: 1. "):
        examples = task.read(path)
    known = [label[0] != NOT_KNOWN for label in task.targets(examples, None)]
    assert known == [True, False]
    scores = support.scores_of(task, answerer(), examples, ["Ann", ""])
    assert scores["exact match"] == 1 / 2


@pytest.mark.slow
def test_no_answer_is_given_where_that_raises_f1_most(tmp_path):
    rng, names = np.random.default_rng(3), ["Ann", "saw", "Bob", "too"]
    contexts = [" ".join(rng.permutation(names)) for _ in range(9)]
    rows = zip(contexts, "?" * 9, ["Ann", None, "saw"] * 3)
    (tmp_path / "a.json").write_text(questions(*rows))
    task = Answering()
    examples = task.read(tmp_path / "a.json")
    model = answerer()
    batches = model.batches(examples)
    bias = model.no_answer_score.bias

    def f1_with(shift):
        bias.assign([shift])
        return task.scores(evaluate(task, model, examples))["F1"]

    task.calibrate(model, examples, batches)
    (chosen,) = bias.numpy()
    best = max(f1_with(shift) for shift in np.linspace(chosen - 1, chosen + 1, 9))
    assert f1_with(chosen) == best
    assert f1_with(-99.0) < best > f1_with(99.0)
