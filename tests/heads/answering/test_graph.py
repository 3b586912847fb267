"""The graphs of answers against the decoding in NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.heads.answering.decoding import NO_ANSWER, best_answer, offset_tokens
from elmo_keras.heads.answering.graph import answers, as_utf8, text_answers
from elmo_keras.text.tokens import placed_words
from tests.support.task_models import Scorer


@pytest.mark.parametrize("unanswerable", [True, False])
@pytest.mark.parametrize("time, longest", [(1, 1), (1, 7), (5, 1), (6, 3), (9, 16)])
def test_a_graph_gives_the_spans_and_probabilities_of_the_decoding(
    time, longest, unanswerable
):
    rng = np.random.default_rng(time)
    lengths = rng.integers(1, time + 1, 50)
    scores = rng.normal(size=(2, 50, time))
    scores = np.where(np.arange(time) < lengths[:, None], scores, -1e9)
    none = 3 + rng.normal(size=50) if unanswerable else np.full(50, -2e9)
    options = {"longest_answer": longest, "unanswerable": unanswerable}
    found = answers(Scorer(scores=(*scores, none), **options), {})
    spans, p = found["span"].numpy().tolist(), found["score"]
    for i, n in enumerate(lengths):
        answer = best_answer((*scores[:, i, :n], none[i]), longest)
        is_none = not answer.is_answer
        assert spans[i] == ([NO_ANSWER] * 2 if is_none else [*answer.span])
        best = answer.none if is_none else answer.score
        assert float(p[i]) == pytest.approx(np.exp(best - answer.total), rel=1e-4)
        if unanswerable:
            p_none = float(found["no_answer_score"][i])
            expected = np.exp(answer.none - answer.total)
            assert p_none == pytest.approx(expected, rel=1e-4)
    assert ([NO_ANSWER] * 2 in spans) == unanswerable == ("no_answer_score" in found)


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


def test_bytes_that_are_no_text_are_spaces():
    texts = as_utf8(tf.constant([b"a\xfeb \xff c", b"\xff"]))
    assert placed_words(texts).words.to_list() == [[b"a", b"b", b"c"], []]
    assert texts[0] == b"a b   c"
