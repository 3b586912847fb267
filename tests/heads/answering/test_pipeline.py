"""Answers as pieces of a context, from the scores of its tokens."""

from types import SimpleNamespace

import numpy as np

from elmo_keras.heads.answering.pipeline import AnswerPipeline


def test_an_answer_ends_before_the_ending_of_its_last_token():
    def scores(contexts, questions):
        """The first token of each context is the answer."""
        first = [np.eye(1, n, dtype="float32")[0] * 9 for n in contexts.lengths]
        return [(x, x, -1e9) for x in first]

    options = {"endings": ["에서"], "longest_answer": 3, "unanswerable": False}
    model = SimpleNamespace(scores=scores, **options)
    context = "서울에서 왔다"
    answer = AnswerPipeline("qa", model, kind="qa")("어디?", context)
    assert answer["text"] == "서울" == context[answer["start"] : answer["end"]]
