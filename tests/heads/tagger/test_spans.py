"""Labelled spans of annotation tools that are read, and that are refused."""

import json
import re

import pytest

from elmo_keras.heads import EntityTagging, read_spans
from elmo_keras.heads.tagger.spans import read_span_rows

TEXT = "Ann met 😀 Bob. She left New York."
TAGGED = [
    (["Ann", "met", "😀", "Bob", "."], ["B-PER", "O", "O", "B-PER", "O"]),
    (["She", "left", "New", "York", "."], ["O", "O", "B-LOC", "I-LOC", "O"]),
]
SPANS = [[0, 3, "PER"], [10, 13, "PER"], [24, 32, "LOC"]]
NAMED = [{"start": a, "end": b, "label": x} for a, b, x in SPANS]
# JavaScript counts the smiley twice.
STUDIO = [
    {"start": a + (a > 8), "end": b + (b > 8), "text": TEXT[a:b], "labels": [label]}
    for a, b, label in SPANS
]
WRONG = STUDIO[0] | {"end": 2, "text": "Al"}
RESULT = [{"value": value, "type": "labels", "from_name": "ner"} for value in STUDIO]
# Further fields of a text and of its spans.
CHOICE = {"start": 0, "end": 3, "text": "Ann", "choices": ["sure"]}
OTHERS = [
    {"type": "relation", "from_id": "a", "to_id": "b"},
    {"value": CHOICE, "type": "choices"},
    {"value": {"rating": 3}, "type": "rating"},
]
CANCELLED = {"was_cancelled": True, "result": []}
DONE = {"was_cancelled": False, "result": RESULT}
OFFSETS = [{"start_offset": a, "end_offset": b, "label": x} for a, b, x in SPANS]
# The text as each tool exports it; the first rows are lines, the others a list.
LINES = {
    "doccano": {"id": 1, "text": TEXT, "label": SPANS, "Comments": []},
    "doccano, before 1.5": {"text": TEXT, "labels": SPANS},
    "doccano, relations": {"text": TEXT, "entities": OFFSETS, "relations": []},
    "prodigy": {"text": TEXT, "spans": NAMED, "tokens": [], "answer": "accept"},
    "spaCy 2": [TEXT, {"entities": SPANS}],
    "NER Annotator": {
        "classes": ["PER", "LOC"],
        "annotations": [[TEXT, {"entities": SPANS}], None],
    },
    "NIKL": {
        "document": [
            {
                "sentence": [
                    {
                        "form": TEXT,
                        "NE": [
                            {"form": TEXT[a:b], "label": x, "begin": a, "end": b}
                            for a, b, x in SPANS
                        ],
                    }
                ]
            }
        ]
    },
    "tokens": {"tokens": TAGGED[0][0], "ner_tags": TAGGED[0][1]},
    "Label Studio": {"data": {"text": TEXT}, "annotations": [CANCELLED, DONE]},
    "Label Studio, other column": {"data": {"body": TEXT}, "annotations": [DONE]},
    "Label Studio, JSON_MIN": {"text": TEXT, "ner": STUDIO, "annotation_id": 7},
    "Label Studio, relations": {
        "data": {"text": TEXT},
        "annotations": [{"result": OTHERS + RESULT}],
    },
    "Label Studio, JSON_MIN, two lists": {
        "text": TEXT,
        "notes": ["a start"],
        "label": STUDIO[:2],
        "towns": [CHOICE, *STUDIO[2:]],
        "annotation_id": 7,
    },
    "doccano, filled entities": {"text": TEXT, "label": [], "entities": OFFSETS},
    "Label Studio, 2020": {"data": {"text": TEXT}, "completions": [DONE]},
}


def pairs(examples):
    return [(example["tokens"], example["tags"]) for example in examples]


@pytest.mark.parametrize("name", LINES)
def test_the_exports_of_tools_become_tagged_sentences(name, tmp_path):
    row = LINES[name]
    expected = TAGGED[:1] if name == "tokens" else TAGGED
    path = tmp_path / "list.json"
    path.write_text(json.dumps([row, row], indent=1))
    assert pairs(EntityTagging().read(path)) == 2 * expected
    if isinstance(row, dict):
        path = tmp_path / "lines.jsonl"
        path.write_text(2 * (json.dumps(row, ensure_ascii=False) + "\n"))
        assert pairs(EntityTagging().read(path)) == 2 * expected
        assert pairs(read_span_rows([("row 0", row)], "data")) == expected


def test_texts_of_klue_with_spans_in_brackets_are_read(file):
    text = TEXT
    for begin, end, label in reversed(SPANS):
        text = f"{text[:begin]}<{text[begin:end]}:{label}>{text[end:]}"
    path = file(
        f"## 문장 : \\n\n## klue-1\t{text}\n서\tB-LC\n\n## klue-2\tNo <x\nN\tO\n"
    )
    assert pairs(EntityTagging().read(path)) == [*TAGGED, (["No", "<", "x"], ["O"] * 3)]


@pytest.mark.parametrize("more", [{"answer": "accept"}, {"spans": None}])
def test_a_text_of_prodigy_without_spans_has_no_entity(more):
    read = read_span_rows([("row 0", {"text": "No.", **more})], "data")
    assert pairs(read) == [(["No", "."], ["O", "O"])]


def test_offsets_of_a_text_are_all_counted_in_one_way():
    text = "😀aa aa"  # "aa" is at 1 and 4 in code points, and at 2 and 5 in UTF-16
    spans = [(2, 4, "X"), (5, 7, "Y")]
    row = {
        "text": text,
        "spans": [
            {"start": a, "end": b, "text": "aa", "label": x} for a, b, x in spans
        ],
    }
    (example,) = read_span_rows([("row 0", row)], "data")
    assert [tag for tag in example["tags"] if tag != "O"] == ["B-X", "B-Y"]


def test_labels_that_become_one_tag_are_refused():
    row = {"text": "Ann met Bob", "label": [[0, 3, "a b"], [8, 11, "a_b"]]}
    with pytest.raises(ValueError, match="^data:row 0: 'a b' and 'a_b' are one tag"):
        read_span_rows([("row 0", row)], "data")


def test_a_folder_of_brat_is_read_with_its_other_lines(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "a.ann").write_text(
        "T1\tPER 0 3\tAnn\nT2\tPER 10 13\tBob\nE1\tMeet:T1\nR1\tKnow Arg1:T1 Arg2:T2\n"
        "T3\tLOC 28 32;24 27\tYork New\nA1\tSure T1\n#1\tNote T1\tmaybe\n"
    )
    (tmp_path / "b.txt").write_bytes(b"No\r\nname.")
    (tmp_path / "b.ann").write_text("")
    read = pairs(EntityTagging().read(tmp_path))
    assert read == [*TAGGED, (["No", "name", "."], ["O"] * 3)]
    assert pairs(read_spans(tmp_path / "a.ann")) == TAGGED


def test_a_doc_bin_of_spacy_is_read(tmp_path):
    spacy = pytest.importorskip("spacy", reason="needs the extra spacy")
    doc = spacy.blank("en")(TEXT)
    doc.ents = [doc.char_span(*span) for span in SPANS]
    unread = spacy.blank("en")("Nobody has read this.")
    partial = spacy.blank("en")("Ann met Bob.")
    span = partial.char_span(0, 3, "PER")
    partial.set_ents([span], missing=[partial[1:]], default="outside")
    spacy.tokens.DocBin(docs=[doc, unread, partial]).to_disk(tmp_path / "a.spacy")
    with pytest.warns(UserWarning, match="2 texts have no complete, acc"):
        assert pairs(read_spans(tmp_path / "a.spacy")) == TAGGED


def rows(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_spans_that_do_not_fit_words_are_widened_named_and_counted(tmp_path):
    path = rows(
        tmp_path / "a.jsonl",
        {"text": "서울에서 왔다.", "label": [[0, 2, "LOC"]]},
        {"text": "New York City fell. Ann", "label": [[0, 8, "X"], [4, 13, "L Y"]]},
        {"text": "Dr. Ann Lee. She", "label": [[3, 10, "PER"], [11, 14, "Q"]]},
        {"text": "rejected", "spans": [], "answer": "reject"},
        {"text": "An ant.", "label": [[4, 6, "X"]]},
    )
    with pytest.warns(UserWarning) as warned:
        read = read_spans(path)
    begins, ends, hidden, skipped = (str(w.message) for w in warned)
    assert all(w.filename == __file__ for w in warned), "where the reader is called"
    assert "1 of 6 spans begin within a word: it is read as a whole word: " in begins
    assert f"{path}: 3 of 6 spans end within a word: the head learns which end" in ends
    assert "a.jsonl:1 '서울' in '서울에서'; a.jsonl:3 'Ann Le' in 'Ann Lee'; " in ends
    assert "1 of 6 spans overlap a longer one" in hidden
    assert hidden.endswith("a.jsonl:2 'New York'")
    assert "1 texts have no complete, accepted annotation" in skipped
    assert pairs(read[:4]) == [
        (["서울에서", "왔다", "."], ["B-LOC", "O", "O"]),
        (["New", "York", "City", "fell", "."], ["O", "B-L_Y", "I-L_Y", "O", "O"]),
        (["Ann"], ["O"]),
        # A span over the end of a sentence joins two.
        (["Dr.", "Ann", "Lee", ".", "She"], ["O", "B-PER", "I-PER", "B-Q", "I-Q"]),
    ]
    left_out = [("서울에서", "LOC", 2), ("City", "L_Y", 0), ("Lee", "PER", 1)]
    ends = [end for example in read[:4] for end in example["left_out"]]
    assert ends == [*left_out, ("She", "Q", 2)]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"text": "Ann", "label": [[0, 4, "X"]]}, "X from 0 to 4 is '', in 3 char"),
        ({"text": "A b", "label": [[1, 2, "X"]]}, "X from 1 to 2 is ' '"),
        ({"text": "Ann", "spans": [WRONG]}, "PER from 0 to 2 is 'An', not 'Al'"),
        ({"text": "Ann", "label": ["good"]}, "begin, end and label of a span are exp"),
        ({"text": "Ann", "label": [[0, 3.0, "X"]]}, "begin, end and label of a span"),
        ({"text": "Ann"}, "spans are expected in spans, label, labels, entities"),
        ({"label": []}, "'text' is missing"),
        ({"text": "a", "annotations": [1]}, "'int' object has no attribute"),
        ({"text": 7, "label": []}, "a text is expected, not 7"),
        ({"tokens": ["a"], "tags": [3]}, "`tags` should be a list of str, not [3]"),
        ({"tokens": [["a"]], "tags": ["O"]}, "`tokens` should be a list of str"),
        ({"tokens": ["a"], "ner_tags": []}, "there should be as many ner_tags as tok"),
    ],
)
def test_what_is_no_span_is_refused_with_its_line_or_row(row, reason, tmp_path):
    path = rows(tmp_path / "a.jsonl", LINES["doccano"], row)
    with pytest.raises(ValueError, match=re.escape(f"{path}:2: {reason}")):
        read_spans(path)
    with pytest.raises(ValueError, match=re.escape(f"data:row 7: {reason}")):
        read_span_rows([("row 7", row)], "data")


def test_files_of_brat_and_spacy_that_are_damaged_are_refused(tmp_path):
    with pytest.raises(ValueError, match="should hold files of brat"):
        read_spans(tmp_path)
    (tmp_path / "a.txt").write_text(TEXT)
    for line, reason in (
        ("T1 PER 0 3 Ann\n", "`T1⇥TYPE BEGIN END⇥TEXT` is expected"),
        ("T1\tPER 0 3;4 7\tAnn Bob\n", "PER is 'Ann met', not 'Ann Bob'"),
        ("T1\tPER 0 3\tBob\n", "PER from 0 to 3 is 'Ann', not 'Bob'"),
    ):
        (tmp_path / "a.ann").write_text(line)
        with pytest.raises(ValueError, match=f"a.ann:1: {reason}"):
            read_spans(tmp_path)
    (tmp_path / "a.txt").write_bytes(TEXT.encode("utf-16"))
    with pytest.raises(ValueError, match="a.txt should be UTF-8. Line 1"):
        read_spans(tmp_path)
    (tmp_path / "a.jsonl").write_text("[]")
    with pytest.raises(ValueError, match="a.jsonl holds no example"):
        read_spans(tmp_path / "a.jsonl")
    pytest.importorskip("spacy", reason="needs the extra spacy")
    (tmp_path / "a.spacy").write_bytes(b"junk")
    with pytest.raises(ValueError, match="should be a DocBin of spaCy"):
        read_spans(tmp_path / "a.spacy")
