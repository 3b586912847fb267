"""Question answering as a task, and its command."""

import numpy as np
import pytest

from elmo_keras.heads import Answering, QuestionAnswering
from elmo_keras.heads.answering.decoding import NOT_KNOWN
from elmo_keras.heads.best_epoch import score_model
from tests.support import task_models as support
from tests.support.task_models import built, questions, token_vectors


def answer(model, context, question):
    return model.predict({"context": [context], "question": [question]})[0]


def answerer():
    vectors = token_vectors(words=["ann", "who"])
    return built(QuestionAnswering(vectors, units=3, unanswerable=True))


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


@pytest.mark.journey
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


@pytest.mark.journey
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
        return score_model(task, model, examples, batches)[0]["F1"]

    task.calibrate(model, examples, batches)
    (chosen,) = bias.numpy()
    best = max(f1_with(shift) for shift in np.linspace(chosen - 1, chosen + 1, 9))
    assert f1_with(chosen) == best
    assert f1_with(-99.0) < best > f1_with(99.0)
