"""The model that answers questions, and its command."""

import itertools
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks.answer.__main__ import TASK, label
from elmo_keras.tasks.answer.answerer import NO_ANSWER, NOT_KNOWN, Answerer
from elmo_keras.tasks.experiments.experiment import main
from tests.support.task_models import (
    built,
    task_options,
    text_inputs,
    token_vectors,
)

NAMES = ["Ann", "Bob", "Cem", "Dora", "Eun", "Fay"]
TOWNS = ["Rome", "Paris", "Busan", "Lima", "Oslo", "Kyiv"]
CONTEXTS = [["Ann", "saw", "Bob", "in", "Rome"], ["Fay", "?"], ["a", "b", "c"]]
QUESTIONS = [["Who", "?"], ["Where", "is", "Fay"], ["x"]]
INPUTS = text_inputs(context=CONTEXTS, question=QUESTIONS)


def answerer(elmo_at, unanswerable, **options):
    vectors = token_vectors(elmo_at, words=["ann", "who"])
    return built(Answerer(vectors, unanswerable, units=3, dropout=0.0, **options))


@pytest.fixture(scope="module")
def model():
    """A model with ELMo, for questions of which some have no answer."""
    return answerer("both", unanswerable=True)


@pytest.fixture(scope="module")
def plain_model():
    """A model without ELMo, for questions that all have answers."""
    return answerer(None, unanswerable=False)


@pytest.fixture(scope="module")
def cutting_model():
    """A model whose answers may begin and end within a token."""
    return answerer(None, unanswerable=True, within_tokens=True)


@pytest.fixture(scope="module")
def outputs(model):
    return model(INPUTS)


@pytest.fixture(scope="module")
def plain_outputs(plain_model):
    return plain_model(INPUTS)


@pytest.mark.parametrize("unanswerable", [False, True])
def test_the_loss_is_minus_log_p_among_all_pairs_of_ends(
    unanswerable, model, outputs, plain_model, plain_outputs
):
    if not unanswerable:
        model, outputs = plain_model, plain_outputs
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


def test_the_loss_of_the_cuts_is_added_for_answers(cutting_model):
    model = cutting_model
    outputs = model(INPUTS)
    labels = [(2, 4, 1, 2), (NO_ANSWER,) * 4, (NOT_KNOWN,) * 4]
    whole = [row[:2] for row in labels]
    starts, ends, _, m, n = outputs
    before = model.cuts.before(tf.constant(["Bob"]), m[:1, 2])
    after = model.cuts.after(tf.constant(["Rome"]), n[:1, 4])
    expected = -tf.nn.log_softmax(before)[0, 1] - tf.nn.log_softmax(after)[0, 2]
    plain = answerer(None, unanswerable=True)
    of_spans = plain.compute_loss(INPUTS, tf.constant(whole), outputs[:3])
    actual = model.compute_loss(INPUTS, tf.constant(labels), outputs)
    assert float(actual) == pytest.approx(float(of_spans + expected / 2), rel=1e-5)


def test_a_model_that_was_saved_without_cuts_has_none(plain_model):
    config = plain_model.get_config()
    del config["within_tokens"]
    assert not Answerer.from_config(config).within_tokens


def test_a_model_saved_before_there_was_a_choice_gives_16_tokens(plain_model):
    config = plain_model.get_config()
    assert Answerer.from_config(config).longest_answer == 30
    del config["longest_answer"]
    assert Answerer.from_config(config).longest_answer == 16


@pytest.mark.parametrize("longest", [3, 20])
def test_an_answer_has_at_most_the_chosen_number_of_tokens(longest):
    model = answerer(None, unanswerable=False, longest_answer=longest)
    time = 25
    starts, ends = (tf.one_hot([place], time) for place in (2, 2 + longest))
    ends += 0.5 * tf.one_hot([1 + longest], time)
    inputs = text_inputs(context=[["a"] * time])
    span = model.decode(inputs, (starts, ends, tf.constant([-9.0])))
    assert span.numpy().tolist() == [[2, 1 + longest]]


def test_answers_that_are_too_long_are_counted(tmp_path, capsys):
    context = " ".join("abcdefghij")
    questions = [
        {"id": t, "question": "?", "answers": [{"text": t, "answer_start": 0}]}
        for t in ("a b c", "a b c d")
    ]
    paragraphs = [{"context": context, "qas": questions}]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))
    TASK.read(path, task_options(TASK, longest_answer=3))
    assert "1 of 2 answers have more than 3 tokens" in capsys.readouterr().out
    TASK.read(path, task_options(TASK))
    assert not capsys.readouterr().out


def test_an_answer_is_a_piece_of_the_text(model, cutting_model):
    text = "Ann met Bob (of Busan) in 2018, didn't she?"
    assert model.answer(text, "Where?") in text
    assert cutting_model.answer("서울에서 만났다", "어디?") in "서울에서 만났다"
    with pytest.raises(ValueError, match="at least one word. Received: ' ' and"):
        model.answer(" ", "Who?")


def test_a_graph_builds_a_model_and_predicts_the_same():
    keras.utils.clear_session()  # no random numbers were drawn, as in a new process
    vectors = token_vectors(None, words=["ann", "who"])
    new = Answerer(vectors, unanswerable=True, units=3, within_tokens=True)
    predicted = new.predict_on_batch(INPUTS)
    np.testing.assert_array_equal(predicted, new.decode(INPUTS, new(INPUTS)))


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


PARTICLES = ["에서", "에", "으로", "까지", ""]
KOREAN_TOWNS = ["서울", "부산", "대구시", "광주", "울산", "여수"]


def korean_questions(n, rng):
    """Where, and a number in brackets; towns are followed by particles."""
    questions = []
    for i in range(n):
        town, year = rng.choice(KOREAN_TOWNS), str(rng.integers(10, 99))
        context = f"그는 x{year}년 {town}{rng.choice(PARTICLES)} 갔다"
        asked, answer = [("어디?", town), ("언제?", year)][i % 2]
        answers = [{"text": answer, "answer_start": context.index(answer)}]
        question = {"id": str(i), "question": asked, "answers": answers}
        questions.append({"context": context, "qas": [question]})
    return {"data": [{"paragraphs": questions}]}


@pytest.mark.slow
def test_the_command_learns_where_in_a_word_an_answer_ends(tmp_path, capsys):
    rng = np.random.default_rng(0)
    for name, size in (("train", 200), ("dev", 40)):
        text = json.dumps(korean_questions(size, rng), ensure_ascii=False)
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    options = f"--train {tmp_path}/train.json --dev {tmp_path}/dev.json"
    options += f" --output {tmp_path}/out --scores korquad --units 10 --word-dim 10"
    options += " --character-dim 2 --dropout 0 --epochs 6 --patience 6"
    options += " --learning-rate 0.01 --layer-dropout 0 --batch-size 16"
    assert main(TASK, None, options.split()) == 0
    assert "not trained on" not in capsys.readouterr().out
    (record,) = json.loads((tmp_path / "out" / "results.json").read_text())
    with capsys.disabled():
        print(f"\nQuestions about particles: {record['dev']}, {record['seconds']} s")
    # Whole tokens answer one of ten questions: towns without a particle.
    assert record["dev"]["exact match"] > 0.8
    model = keras.models.load_model(tmp_path / "out" / "baseline-1.keras")
    assert model.answer("그는 x47년 대구시까지 갔다", "어디?") == "대구시"
    assert model.answer("그는 x47년 대구시까지 갔다", "언제?") == "47"


def test_answers_that_training_leaves_out_are_reported(tmp_path, capsys):
    context = "Ann moved to Donaudampfschifffahrt."
    answers = ["Ann", "moved", "Donau"]
    questions = [
        {"id": t, "question": "?", "answers": [{"text": t, "answer_start": s}]}
        for t, s in zip(answers, (0, 3, 13))
    ]
    paragraphs = [{"context": context, "qas": questions}]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))
    examples = TASK.read(path, task_options(TASK))
    printed = capsys.readouterr().out.splitlines()
    assert "1 of 3 answers are not at their answer_start, first that of" in printed[0]
    assert "'moved' is expected there, and ' move' is found" in printed[0]
    assert "2 of 3 questions are scored, but not trained on" in printed[1]
    known = [label(example)[0] != NOT_KNOWN for example in examples]
    assert known == [True, False, False]
    gold = [example["span"] or (0, 1, 0, 0) for example in examples]
    assert TASK.scores(None, examples, gold)["exact match"] == pytest.approx(2 / 3)
