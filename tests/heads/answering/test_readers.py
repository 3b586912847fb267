"""Questions of SQuAD: what readers make of them, and which are refused."""

import gzip
import json

import pytest

from elmo_keras.heads import read_squad
from elmo_keras.heads.answering.readers import answer_endings, read_questions
from tests.support.task_models import questions

CONTEXT = "In 1990, Ann's team won. It was a 3.5-hour race — 끝!"


def question(answers=(), text="Who won?", **more):
    answers = [
        {"text": answer, "answer_start": CONTEXT.find(answer)} for answer in answers
    ]
    return {"id": "q", "question": text, "answers": answers} | more


def squad(*questions, context=CONTEXT):
    paragraph = {"context": context, "qas": list(questions)}
    return json.dumps({"data": [{"paragraphs": [paragraph]}]})


@pytest.mark.parametrize(
    "answer, span, ending, text",
    [
        ("Ann's team", (3, 5), "", "Ann's team"),
        ("끝", (14, 14), "", "끝"),
        # An answer may begin and end within a token.
        ("99", (1, 1), "0", "99"),
        ("990, A", (1, 3), "nn", "990, A"),
        # White space around it is left out.
        (" 1990", (1, 1), "", "1990"),
        ("won. ", (6, 7), "", "won."),
    ],
)
def test_an_answer_becomes_the_tokens_at_its_offset(answer, span, ending, text, file):
    example, other = read_squad(file(squad(question([answer]), question([]))))
    assert example["question"] == ["Who", "won", "?"]
    assert example["span"] == span and example["answers"] == [text]
    assert example["ending"] == ending
    found = example["offsets"].answer(example["text"], *span, [ending])
    assert found.endswith(text)
    assert other["offsets"] is example["offsets"] and other["span"] is None


def test_answers_not_at_their_offset_are_counted_and_plausible_ones_are_none(file):
    moved, second = question(["Ann's"]), question(["team", "1990"])
    moved["answers"][0]["answer_start"] += 1
    second["answers"][0]["answer_start"] = -3
    impossible = question(is_impossible=True, plausible_answers=[{"text": "Ann"}])
    examples = read_squad(file(squad(moved, second, impossible)))
    assert [e["span"] for e in examples] == [None, (1, 1), None]
    assert examples[0]["answers"] == ["Ann's"] and examples[2]["answers"] == []
    assert [e["n_misplaced"] for e in examples] == [1, 1, 0]


def test_a_file_may_be_one_line_of_megabytes_after_a_byte_order_mark(file):
    path = file("\ufeff" + squad(question(), context="w" + " " * 2**20))
    assert read_squad(path)[0]["context"] == ["w"]
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert read_squad(path)[0]["context"] == ["w"]


HUGGING_FACE = [
    {"context": "Ann won .", "question": q, "answers": {"text": t, "answer_start": s}}
    for q, t, s in (("Who ?", ["Ann"], [0]), ("Why ?", [], []))
]
WHO = {"question": "Who ?", "answer": {"text": "Ann", "answer_start": 0}}
KORQUAD_2 = {"context": "Ann won .", "qas": [WHO, {"question": "Why ?", "answers": []}]}
LAYOUTS = {
    "lines": "\n".join(map(json.dumps, HUGGING_FACE)),
    "list": json.dumps(HUGGING_FACE),
    "KorQuAD 2": json.dumps({"data": [KORQUAD_2]}),
}


@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS)
def test_questions_of_other_layouts_are_read(text, file):
    who, why = read_squad(file(text))
    assert who["context"] == why["context"] == ["Ann", "won", "."]
    assert who["question"] == ["Who", "?"] and who["span"] == (0, 0)
    assert who["answers"] == ["Ann"] and why["answers"] == [] and why["span"] is None


def test_questions_in_memory_become_those_of_a_file(file):
    expected = read_squad(file(LAYOUTS["list"]))
    rows = [*HUGGING_FACE, {"context": "Ann", "question": "Who?"}]
    assert read_questions(enumerate(rows[:2]), "data") == expected
    with pytest.raises(ValueError, match="^data:2: not as .* 'answers' is missing"):
        read_questions(enumerate(rows), "data")


def test_endings_that_answers_mostly_leave_out_are_learned(file):
    words = ["서울에서", "부산에서", "여수는", "대구는", "나는", "1990년", "x"]
    answers = ["서울", "부산", "여수", "대구", "나는", "1990", "x"]
    examples = read_squad(file(questions(*zip(words, "?" * 7, answers))))
    assert answer_endings(examples) == ["는", "에서"]  # "년" once
    often = examples + 2 * [examples[4]]
    assert answer_endings(often) == ["에서"]


BROKEN = [
    ('{"data": [\n{"paragraphs" 3}]}', ":1: JSON is expected. .*line 2 column 15"),
    ("7", "holds no example"),
    ('{"a": 1}\n{"b": 2}', ":1: not as in SQuAD: 'context' is missing"),
    ('{"a": 1}\n{"b" 2}', ".*:2: JSON is expected"),
    ('{"data": []}', "holds no example"),
    ('{"data": [{"paragraphs": [7]}]}', r":1: data\[0\].paragraphs\[0\].not as in SQ"),
]
BROKEN += [
    (squad(question(["Ann"]), broken), rf"qas\[1\] not as in SQuAD: {reason}")
    for broken, reason in (
        ({"question": "Who?"}, "'answers' is missing"),
        (question(text=" "), ".*text is expected. Received: ' '"),
        (question(answers=[""]), ".*text is expected. Received: ''"),
        (question() | {"answers": [{"text": "x", "answer_start": "1"}]}, "TypeError"),
    )
]


@pytest.mark.parametrize("content, reason", BROKEN)
def test_a_malformed_file_is_refused_with_its_place(content, reason, file):
    path = file(content)
    with pytest.raises(ValueError, match=reason) as error:
        read_squad(path)
    assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)
