"""The model that answers questions, and its command."""

import functools
import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks.answer_text import NO_ANSWER, NOT_KNOWN
from elmo_keras.tasks.answering import QuestionAnswering
from elmo_keras.tasks.fit import evaluate
from elmo_keras.tasks.task import Answering
from tests.support.task_models import (
    built,
    questions,
    scores_of,
    text_inputs,
    token_vectors,
    trained,
)

NAMES = ["Ann", "Bob", "Cem", "Dora", "Eun", "Fay"]
TOWNS = ["Rome", "Paris", "Busan", "Lima", "Oslo", "Kyiv"]
CONTEXTS = [["Ann", "saw", "Bob", "in", "Rome"], ["Fay", "?"], ["a", "b", "c"]]
QUESTIONS = [["Who", "?"], ["Where", "is", "Fay"], ["x"]]
INPUTS = text_inputs(context=CONTEXTS, question=QUESTIONS)


@functools.cache
def answerer(elmo_at=None, unanswerable=True, **options):
    vectors = token_vectors(elmo_at, words=["ann", "who"])
    return built(
        QuestionAnswering(
            vectors, units=3, dropout=0.0, unanswerable=unanswerable, **options
        )
    )


def answer(model, context, question):
    return model.predict({"context": [context], "question": [question]})[0]


@pytest.mark.parametrize("elmo_at, unanswerable", [(None, False), ("both", True)])
def test_the_loss_is_minus_log_p_among_all_pairs_of_ends(elmo_at, unanswerable):
    model = answerer(elmo_at, unanswerable)
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


@pytest.mark.parametrize("longest", [3, 20])
def test_an_answer_has_at_most_the_chosen_number_of_tokens(longest):
    model = answerer(unanswerable=False, longest_answer=longest)
    time = 25
    starts, ends = (tf.one_hot([place], time) for place in (2, 2 + longest))
    ends += 0.5 * tf.one_hot([1 + longest], time)
    inputs = text_inputs(context=[["a"] * time])
    span = model.decode(inputs, (starts, ends, tf.constant([-9.0])))
    assert span.numpy().tolist() == [[2, 1 + longest]]


def test_an_answer_is_a_piece_of_the_text():
    model = answerer("both")
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


def town_questions(n, rng):
    """Who moved, and where to; every third question is about something else."""
    rows = []
    for i in range(n):
        (moved, other), town = rng.permutation(NAMES)[:2], rng.choice(TOWNS)
        context = f"{moved} moved to {town} with {other}."
        asked = ("Who moved?", moved), ("Where to?", town), ("How old?", None)
        rows.append((context, *asked[i % 3]))
    return questions(*rows)


@pytest.mark.slow
def test_the_command_learns_who_moved_and_where_to(tmp_path, capsys):
    rng = np.random.default_rng(0)
    texts = {"train": town_questions(300, rng), "dev": town_questions(48, rng)}
    options = "--units 20 --word-dim 20 --epochs 4 --batch-size 16"
    scores, model = trained(Answering, tmp_path, options, capsys, **texts)
    # By chance: one of three questions.
    assert scores["exact match"] > 0.8 and scores["no answer"] > 0.8
    assert answer(model, "Dora moved to Lima with Bob.", "Who moved?") == "Dora"


PARTICLES = ["에서", "에", "으로", "까지", ""]
KOREAN_TOWNS = ["서울", "부산", "대구시", "광주", "울산", "여수"]


def korean_questions(n, rng):
    """Where, and a year; towns are followed by particles."""
    rows = []
    for i in range(n):
        town, year = rng.choice(KOREAN_TOWNS), str(rng.integers(10, 99))
        context = f"그는 {year}년 {town}{rng.choice(PARTICLES)} 갔다"
        rows.append((context, *[("어디?", town), ("언제?", year)][i % 2]))
    return questions(*rows)


@pytest.mark.slow
def test_the_command_learns_where_in_a_word_an_answer_ends(tmp_path, capsys):
    rng = np.random.default_rng(0)
    texts = {"train": korean_questions(200, rng), "dev": korean_questions(40, rng)}
    options = "--metric korquad --units 10 --word-dim 10 --epochs 6 --patience 6"
    options += " --batch-size 16"
    scores, model = trained(Answering, tmp_path, options, capsys, **texts)
    # Whole tokens answer one of ten questions: towns without a particle.
    assert scores["exact match"] > 0.8
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
    assert scores_of(task, answerer(), examples, ["Ann", ""])["exact match"] == 1 / 2
    path.write_text(questions(*rows[1:]))
    with pytest.raises(ValueError, match=r"a.json: answer_start .* No answer is there"):
        task.read(path)


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
