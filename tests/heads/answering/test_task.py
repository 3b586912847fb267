"""Question answering as a task."""

import numpy as np
import pytest

from elmo_keras.heads import Answering, QuestionAnswering
from elmo_keras.heads.answering.decoding import NOT_KNOWN
from elmo_keras.heads.best_epoch import score_model
from tests.support import task_models as support
from tests.support.task_models import built, questions, token_vectors


def answerer():
    vectors = token_vectors(words=["ann", "who"])
    return built(QuestionAnswering(vectors, units=3, unanswerable=True))


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
        return score_model(task, model, batches)[0]["F1"]

    task.calibrate(model, batches)
    (chosen,) = bias.numpy()
    best = max(f1_with(shift) for shift in np.linspace(chosen - 1, chosen + 1, 9))
    assert f1_with(chosen) == best
    assert f1_with(-99.0) < best > f1_with(99.0)
