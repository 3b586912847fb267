"""SQuAD's files and its scores."""

import gzip
import json

import pytest

from elmo_keras.tasks.answer.squad import (
    answer_endings,
    exact_match,
    f1,
    read_squad,
    squad_scores,
    squad_statistics,
)

EN, KO = "squad", "korquad"
CONTEXT = "In 1990, Ann's team won. It was a 3.5-hour race — 끝!"


def question(answers=(), text="Who won?", **more):
    answers = [
        {"text": answer, "answer_start": CONTEXT.find(answer)} for answer in answers
    ]
    return {"id": "q", "question": text, "answers": answers} | more


def squad(*questions, context=CONTEXT):
    paragraph = {"context": context, "qas": list(questions)}
    return {"data": [{"paragraphs": [paragraph]}]}


def write(path, *questions, context=CONTEXT):
    path.write_text(json.dumps(squad(*questions, context=context)))
    return path


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
def test_an_answer_becomes_the_tokens_at_its_offset(
    answer, span, ending, text, tmp_path
):
    path = write(tmp_path / "a.json", question([answer]), question([]))
    example, other = read_squad(path)
    assert example["question"] == ["Who", "won", "?"]
    assert example["span"] == span and example["answers"] == [text]
    assert example["ending"] == ending
    found = example["offsets"].answer(example["text"], *span, [ending])
    assert found.endswith(text)
    assert other["offsets"] is example["offsets"] and other["span"] is None


def test_answers_that_are_not_at_their_offset_are_counted(tmp_path):
    moved, second = question(["Ann's"]), question(["team", "1990"])
    moved["answers"][0]["answer_start"] += 1
    second["answers"][0]["answer_start"] = -3
    path = write(tmp_path / "a.json", moved, second, question())
    examples = read_squad(path)
    assert [e["span"] for e in examples] == [None, (1, 1), None]
    assert examples[0]["answers"] == ["Ann's"]
    assert [e["n_misplaced"] for e in examples] == [1, 1, 0]


def test_an_impossible_question_has_no_answer_even_if_plausible_ones_are_given(
    tmp_path,
):
    impossible = question(is_impossible=True, plausible_answers=[{"text": "Ann"}])
    (example,) = read_squad(write(tmp_path / "a.json", impossible))
    assert example["answers"] == [] and example["span"] is None


def test_a_file_may_be_one_line_of_megabytes_after_a_byte_order_mark(tmp_path):
    path = write(tmp_path / "a.json", question(), context="w" + " " * 2**20)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_squad(path)[0]["context"] == ["w"]
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert read_squad(path)[0]["context"] == ["w"]


def test_endings_that_answers_mostly_leave_out_are_learned(tmp_path):
    words = ["서울에서", "부산에서", "여수는", "대구는", "나는", "1990년", "x"]
    answers = ["서울", "부산", "여수", "대구", "나는", "1990", "x"]
    questions = [
        {"id": a, "question": "?", "answers": [{"text": a, "answer_start": 0}]}
        for a in answers
    ]
    paragraphs = [{"context": w, "qas": [q]} for w, q in zip(words, questions)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))
    examples = read_squad(path)
    assert answer_endings(examples) == ["는", "에서"]  # "년" once
    often = examples + 2 * [examples[4]]
    assert answer_endings(often) == ["에서"]


def with_question(broken):
    return json.dumps(squad(question(["Ann"]), broken))


BROKEN = [
    ('{"data": [\n{"paragraphs" 3}]}', r"bad.json:2: JSON is expected. Column 15"),
    ("[]", "data is not as in SQuAD"),
    ('{"data": []}', "data should hold questions"),
    ('{"data": [{"paragraphs": [7]}]}', r"data\[0\].paragraphs\[0\] is not as in SQ"),
    ("[" * 100_000, "brackets"),
]
BROKEN += [
    (with_question(broken), rf"qas\[1\] is not as in SQuAD: {reason}")
    for broken, reason in (
        ({"question": "Who?"}, r"KeyError\('answers'\)"),
        (question(text=" "), "text is expected. Received: ' '"),
        (question(text=5), "TypeError"),
        (question(answers=[""]), "text is expected. Received: ''"),
        (question() | {"answers": [{"text": "x", "answer_start": "1"}]}, "TypeError"),
        ("Who?", "AttributeError"),
    )
]


@pytest.mark.parametrize("content, reason", BROKEN)
def test_a_malformed_file_is_refused_with_its_place(content, reason, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=reason) as error:
        read_squad(path)
    assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "metric, prediction, gold, f1_by_hand, exact_by_hand",
    [
        (EN, "The Eiffel Tower!", "eiffel  tower", 1, 1),
        (EN, "a tower in Paris", "the Eiffel tower", 2 * (1 / 3 * 1 / 2) / (5 / 6), 0),
        (EN, "a b c", "x", 0, 0),  # "a" is an article
        (EN, "b b c", "b b b", 2 / 3, 0),
        (EN, "", "the", 1, 1),
        (EN, "", "tower", 0, 0),
        (EN, "state-of-the-art", "stateoftheart", 1, 1),  # punctuation goes first
        (EN, "theatre", "atre", 0, 0),
        (EN, "3.5", "35", 1, 1),
        (EN, "“Paris”", "Paris", 0, 0),  # only ASCII punctuation goes
        # In Korean, characters count, and there are no articles: both have "the".
        (KO, "서울에서", "서울", 2 / 3, 0),  # 2 of 4 and 2 of 2 characters
        (KO, "《광장》", "광장", 1, 1),
        (KO, "the 'Cave'", "The Cave", 1, 1),
        (KO, "a house", "house", 10 / 11, 0),
        (KO, "1990년 5월", "1990년5월", 1, 0),  # a space counts in the exact match
        (KO, "3.5", "35", 1, 1),
        (KO, "부산", "서울", 0, 0),
        (KO, "", "서울", 0, 0),
    ],
)
def test_scores_of_one_answer_by_hand(
    metric, prediction, gold, f1_by_hand, exact_by_hand
):
    assert f1(prediction, gold, metric) == pytest.approx(f1_by_hand)
    assert exact_match(prediction, gold, metric) == exact_by_hand
    if gold != "the":  # which counts as no answer
        means = squad_scores(squad_statistics([prediction], [["x" * 99, gold]], metric))
        expected = {"F1": f1_by_hand, "exact match": exact_by_hand}
        assert means == pytest.approx(expected)


def test_the_best_of_several_answers_counts_and_no_answer_can_be_right():
    answers = [["Paris", "the city of Paris"], ["x"], [], [], ["the"]]
    scores = squad_scores(squad_statistics(["city Paris", "", "", "Rome", ""], answers))
    of_two = 2 * (2 / 2 * 2 / 3) / (1 + 2 / 3)  # "city of Paris"
    assert scores == pytest.approx(
        {
            "F1": (of_two + 0 + 1 + 0 + 1) / 5,
            "exact match": 2 / 5,
            "no answer": 2 / 3,
            "F1 of answerable": of_two / 2,
            "exact match of answerable": 0,
        }
    )
    assert list(scores)[0] == "F1"
