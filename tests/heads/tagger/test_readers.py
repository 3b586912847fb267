"""Readers of examples: what they make of files, and the lines they refuse."""

import functools
import gzip
import json
import re

import numpy as np
import pytest

from elmo_keras.tasks.data import (
    answer_endings,
    read_columns,
    read_conllu,
    read_documents,
    read_lower_case_vectors,
    read_pairs,
    read_predicates,
    read_roles,
    read_squad,
    read_texts,
    read_trees,
    read_word_vectors,
    windows,
)
from elmo_keras.text.tokenizers import split_spaces
from tests.support.task_models import questions

CONLLU = """# text = vámonos al mar
1-2|vámonos|_|_|_|_|_|_|_|_
1|vamos|ir|VERB|_|_|0|root|_|_
2|nos|nosotros|PRON|_|_|1|obj|_|_
2.1|va|ir|VERB|_|_|_|_|_|_
3|mar|mar|NOUN|_|_|1|obl|_|SpaceAfter=No

# only a comment

1|Sí|sí|INTJ|_|_|0|root|_|_
""".replace("|", "\t")
CONLL = """-DOCSTART- -X- -X- O

EU NNP I-NP I-ORG
rejects VBZ I-VP O
Peter NNP I-NP I-PER
Blackburn NNP I-NP I-PER
Anna NNP I-NP B-PER
"""
IN_TABS = CONLL.replace(" ", "\t").replace("\n\n", "\n\t\n").replace("\n", "\r\n")
BRACKETS = "a - (A0*\nb - *)\nc c (V*)\nd - *\n"
CONLL_2012 = """#begin document (d); part 000
d 0 0 a NN (S* be - - Ann * (A0*) -
d 0 1 b NN *) be 01 - Ann * (V*) -

#end document
"""
ROLES = """The - B-A0 O
cat - I-A0 O
sat sit B-V O
and - O O
ate eat O B-V

Yes -
"""
TABLE = "text\tlabel\n"
PAIR = '{"premise": "a", "hypothesis": "b", "label": "x"}\n'
spaces = functools.partial(read_texts, split=split_spaces)


def tagged(*sentences):
    """The tokens and tags of sentences written as `word/TAG`."""
    rows = [[pair.rsplit("/", 1) for pair in text.split()] for text in sentences]
    return [tuple(map(list, zip(*row))) for row in rows]


PEOPLE = tagged("EU/B-ORG rejects/O Peter/B-PER Blackburn/I-PER Anna/B-PER")
ODD = "a\u2028b\x85c\x0bd"  # one word
CAT = ["The", "cat", "sat", "and", "ate"]
# Reader, file, and the values of the examples' fields.
READ = [
    # Tables with tabs, in which quotes are text; with commas, in which they are not.
    (
        read_texts,
        'id\ttext\tlabel\n7\tSo "good"~\t 1\n8\t\t0\n',
        [(["So", '"', "good", '"', "~"], "1"), ([], "0")],
    ),
    (read_texts, 'label,text\n1,"a, ""b""\nc"\n', [([*'a,"b"c'], "1")]),
    (
        spaces,
        "text\tlabel\n2\xa01/2 It's \u2028 x\x85\t5\n",
        [(["2\xa01/2", "It's", "\u2028", "x\x85"], "5")],
    ),
    # JSON lines; a list holds tokens.
    (
        read_texts,
        '{"text": ["2\xa01/2", "It\'s"], "label": 3, "more": {}}\n{"text": "It\'s", "label": "x"}\n',
        [(["2\xa01/2", "It's"], "3"), (["It", "'s"], "x")],
    ),
    (
        read_texts,
        '{"text": "Oh", "labels": ["joy", "fear"]}\n{"text": "", "labels": []}\n',
        [(["Oh"], ["joy", "fear"]), ([], [])],
    ),
    (read_texts, "text\tlabels\na\tb,c\nd\t\n", [(["a"], ["b", "c"]), (["d"], [])]),
    (read_texts, TABLE, []),
    (read_texts, "", []),
    (read_pairs, "label\thypothesis\tpremise\n1\tc\ta b\n", [([*"ab"], ["c"], "1")]),
    (read_pairs, PAIR, [(["a"], ["b"], "x")]),
    (read_conllu, CONLLU, tagged("vamos/VERB nos/PRON mar/NOUN", "Sí/INTJ")),
    (
        read_trees,
        CONLLU,
        [
            (
                *(["vamos", "nos", "mar"], ["ir", "nosotros", "mar"]),
                *(["VERB", "PRON", "NOUN"], ["_"] * 3, ["_"] * 3),
                *([0, 1, 1], ["root", "obj", "obl"], ["no", "yes", "no"]),
            ),
            (["Sí"], ["sí"], ["INTJ"], ["_"], ["_"], [0], ["root"], ["no"]),
        ],
    ),
    # Entities in MISC of CoNLL-U, by several keys and without one.
    (
        read_columns,
        CONLLU.replace("root\t_\t_", "root\t_\tname=B-PER")
        .replace("obj\t_\t_", "obj\t_\tGloss=us|NER=I-PER")
        .replace("SpaceAfter=No", "B-LOC"),
        tagged("vamos/B-PER nos/I-PER mar/B-LOC", "Sí/B-PER"),
    ),
    (read_columns, CONLL, PEOPLE),
    (read_columns, IN_TABS, PEOPLE),
    # Spaces after a tag, a line without a word, and a word that begins with "#".
    (read_columns, "#a\tB-A \n\tI-A\nb\tI-A\t\n", tagged("#a/B-A b/I-A")),
    # Columns index, word, outer tag and inner tag, with comments.
    (
        read_columns,
        "# at [1] O\n1\tA\tB-LOCderiv\tO\n2\tb\tO\tB-PER\n\n#\tat\n1\tC\tO\tO\n",
        tagged("A/B-LOCderiv b/O", "C/O"),
    ),
    (read_columns, "a B-A\nb M-A\nc E-A\nd S-A\n", tagged("a/B-A b/I-A c/I-A d/B-A")),
    # Types alone, then prefixes alone.
    (read_columns, "a PER\nb PER\nc LOC\nd O\n", tagged("a/B-PER b/I-PER c/B-LOC d/O")),
    (read_columns, "a B\nb I\nc O\n", tagged("a/B-ENTITY b/I-ENTITY c/O")),
    (read_columns, "a O\nb I\nc I\n", tagged("a/O b/B-ENTITY c/I-ENTITY")),
    (
        functools.partial(read_columns, columns=(2, 1)),
        "B-A a\nO b\n",
        tagged("a/B-A b/O"),
    ),
    (read_columns, f"{ODD} O\r\n\xa0 O\n", [([ODD, "\xa0"], ["O", "O"])]),
    (read_roles, BRACKETS, [([*"abcd"], [0, 0, 1, 0], ["B-A0", "I-A0", "B-V", "O"])]),
    (read_roles, CONLL_2012, [(["a", "b"], [0, 1], ["B-A0", "B-V"])]),
    (
        read_roles,
        ROLES,
        [
            (CAT, [0, 0, 1, 0, 0], ["B-A0", "I-A0", "B-V", "O", "O"]),
            (CAT, [0, 0, 0, 0, 1], ["O", "O", "O", "O", "B-V"]),
        ],
    ),
    (read_predicates, ROLES, tagged("The/O cat/O sat/B-V and/O ate/B-V")),
]


@pytest.mark.parametrize("read, text, values", READ)
def test_a_file_becomes_examples(read, text, values, file):
    # Spaces at the end of a file and a byte order mark are no part of it.
    path = file(f"\ufeff{text}\n\t\r\n")
    examples = read(path)
    assert [tuple(example.values()) for example in examples] == values
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert read(path) == examples


def test_files_without_a_sentence_or_with_two_kinds_of_labels_are_refused(file):
    with pytest.raises(ValueError, match="holds no sentence"):
        read_columns(file("\n\n"))
    with pytest.raises(ValueError, match="has no entities: .* such as `name=B-PER`"):
        read_columns(file(CONLLU))
    mixed = '{"text": "a", "label": "b"}\n{"text": "a", "labels": ["b"]}\n'
    with pytest.raises(ValueError, match="`label` in all lines, or `labels` in all"):
        read_texts(file(mixed))


BEGIN, END = "#begin document (d/one); part 002\n", "\n#end document\n"


def line(word, coreference="-", speaker="Ann", more=""):
    return f"d 0 0 {word} NN (S*) - - - {speaker} * {more}{coreference}\n"


def tabs(word, coreference="", more=""):
    """A line of LitBank's columns."""
    return f"d_brat\t0\t0\t{word}" + 8 * "\t_" + f"{more}\t{coreference}\n"


MALFORMED = [
    (read_texts, "id\tdocument\n1\ta\n", 2, "text, label .* Missing: text, label"),
    (read_texts, f"{TABLE}a\t1\nb\n", 3, "2 columns are expected .text, label., not 1"),
    (read_texts, f"{TABLE}a\t \n", 2, "a label is expected, not ' '"),
    (read_texts, 'text,label\na,1\n"b,1\n', 3, "unexpected end of data"),
    (read_texts, '{"text": "a", "label": "1"}\n{"text": "a"\n', 2, "JSON is expected"),
    (read_texts, '{"text": "a", "label": "1"}\n[]\n', 2, r"an object .*, not \[\]"),
    (read_texts, '{"text": 1, "label": "1"}\n', 1, "a text or a list of tokens .* 1"),
    (read_texts, '{"text": "a", "label": null}\n', 1, "a label is expected, not None"),
    (read_texts, '{"text": "a", "labels": 5}\n', 1, "a list of labels is expected"),
    (read_pairs, PAIR + PAIR.replace("hypo", ""), 2, "Missing: hypothesis"),
    (read_conllu, CONLLU.replace("nos\tnosotros", "nos"), 4, "10 columns"),
    (read_conllu, CONLLU.replace("3\tmar", "x\tmar"), 6, "number, not 'x'"),
    (read_conllu, CONLLU.replace("INTJ", "_"), 10, "part of speech is missing"),
    (read_trees, CONLLU.replace("3\tmar", "4\tmar"), 6, "word 3 is expected, not 4"),
    (read_trees, CONLLU.replace("1\tobj", "_\tobj"), 4, "a head and a relation"),
    (read_trees, CONLLU.replace("1\tobl", "4\tobl"), 1, "heads should be words"),
    (read_trees, CONLLU.replace("1\tobl", "0\tobl"), 1, "and 0 for one of them"),
    (read_columns, CONLL.replace(" VBZ I-VP O", ""), 4, "a word and its tag"),
    (read_columns, CONLL.replace("I-ORG", "ORG"), 3, "not 'ORG'"),
    (read_roles, ROLES.replace(" eat O B-V", " eat O"), 5, "4 columns"),
    (read_roles, ROLES.replace("B-A0", "A0"), 1, "not 'A0'"),
    (read_roles, BRACKETS.replace("(A0*", "*"), 2, "ends a role that did not begin"),
    (read_roles, BRACKETS.replace("(V*)", "(V*"), 4, r"\(V\* does not"),
    (read_roles, BRACKETS.replace(" *\n", " (A1*\n"), 4, r"\(A1\* does not end"),
    (read_columns, "a O\nb B-\n", 2, "not 'B-'"),
    (read_columns, "a O\nb B-a,B-b\n", 2, "not 'B-a,B-b'"),
    (read_columns, "a O\nb PER-B\n", 2, "not 'PER-B'"),
    (read_columns, "a O\nb S\n", 2, "not 'S'"),
    (read_columns, "a O\nb PER\nc I\n", 2, "not 'PER'"),
    # A word that holds a space, and a column more than the lines around it.
    (read_columns, 5 * "a _ _ O\n" + "Last Name _ _ I-PER\n", 6, "4 columns .* not 5"),
    (read_columns, CONLL.replace("B-PER", "B-PER x"), 7, "4 columns .* not 5"),
]
MALFORMED += [
    (read_documents, *row)
    for row in [
        (BEGIN + line("a", "(1") + "\n" + line("b") + END, 3, r"\(1 does not end with"),
        (BEGIN + line("a", "1)") + END, 2, r"1\) ends a mention that did not begin"),
        (BEGIN + line("a", "(x)") + END, 2, r"the last column should be .* '\(x\)'"),
        (BEGIN + line("a", "(1)|") + END, 2, "the last column should be .* ''"),
        (BEGIN + "a b c\n" + END, 2, "a line should have 12 columns. Received: 3"),
        (BEGIN + line("a") + line("b", more="* ") + END, 3, "line should .* 12 .* 13"),
        (BEGIN + tabs("") + END, 2, "the 4th column should hold a word. Received: ''"),
        (BEGIN + tabs("a") + tabs("b", more="\t_") + END, 3, "should have 13 .* 14"),
        (BEGIN + line("a"), 2, "the file ends without `#end document`"),
        (BEGIN + END, 3, "the document has no tokens"),
        (BEGIN + line("a") + BEGIN + END, 3, ".* is expected"),
        ("#begin document d\n", 1, "`#begin document .* is expected"),
        ("", 0, "the file ends without `#begin document"),
    ]
]


@pytest.mark.parametrize("read, text, number, reason", MALFORMED)
def test_a_malformed_line_is_reported_with_its_place(file, read, text, number, reason):
    place = re.escape(f"{file(text)}:{number}: ")
    with pytest.raises(ValueError, match=f"^{place}.*{reason}") as error:
        read(file(text))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "read, content, place",
    [
        (read_squad, b'{"data":\n["\xff"]}', " should be a file of JSON. 'utf-8'"),
        (
            read_squad,
            gzip.compress(b"{}", mtime=0)[:-9],
            " .* file of JSON. Compressed",
        ),
        (read_documents, BEGIN.encode() + b"\xff\n", " should be UTF-8. Line 2"),
        (read_columns, b"word O\nw\xff O\n", " should be UTF-8. Line 2"),
    ],
)
def test_a_file_that_is_not_utf_8_or_cut_is_refused(read, content, place, tmp_path):
    path = tmp_path / "bad"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"bad{place}"):
        read(path)


def test_brackets_become_mentions_of_the_whole_document(file):
    text = line("Ann", "(3") + line("Lee", "3)|(12") + line("/.", "12)") + "\n"
    for word, brackets in (("She", "(3)"), ("it", "(7|(12)"), ("her", "7)")):
        text += line(word, brackets, "Bob", "* * ")
    (document,) = read_documents(file(BEGIN + text + END))
    assert document["name"] == "d/one" and document["part"] == 2
    assert document["sentences"] == [["Ann", "Lee", "."], ["She", "it", "her"]]
    assert document["speakers"] == [["Ann"] * 3, ["Bob"] * 3]
    assert document["clusters"] == [[(0, 1), (3, 3)], [(1, 2), (4, 4)], [(4, 5)]]


NESTED = line("a", "(1") + line("b", "(1") + line("c", "1)|1)") + line("d", "(1)|(1)")
LITBANK = tabs("No.\xa07", "(3") + tabs("New York", "3)|(1)") + tabs("\u2028 ")


@pytest.mark.parametrize(
    "text, sentences, clusters",
    [
        (NESTED, [["a", "b", "c", "d"]], [[(0, 2), (1, 2), (3, 3)]]),
        # Between tabs, a word may hold white space and the last column be empty.
        (
            LITBANK + tabs("she", "(3)"),
            [["No.\xa07", "New York", "\u2028", "she"]],
            [[(0, 1), (3, 3)], [(1, 1)]],
        ),
        # Between spaces, a word may hold other white space.
        (
            line("2\xa01/2") + line("\u3000") + "\t \n" + line("x"),
            [["2\xa01/2", "\u3000"], ["x"]],
            [],
        ),
    ],
)
def test_each_part_is_a_document(text, sentences, clusters, file):
    documents = read_documents(file(2 * ("\n" + BEGIN + text + END)))
    assert [document["sentences"] for document in documents] == [sentences] * 2
    assert [document["clusters"] for document in documents] == [clusters] * 2


def test_windows_hold_the_clusters_within_them():
    sentences = [["Ann", "met", "Bob", "."], ["She"], ["He", "saw", "her"]]
    speakers = [["a"] * 4, ["b"], ["a"] * 3]
    document = {
        "name": "d",
        "sentences": sentences,
        "speakers": speakers,
        "clusters": [[(0, 0), (4, 4), (7, 7)], [(2, 2), (5, 5)], [(5, 6), (7, 7)]],
    }
    first, second = windows(document, 2)
    assert first["sentences"] == sentences[:2] and second["sentences"] == sentences[2:]
    assert second["speakers"] == speakers[2:] and second["name"] == "d"
    assert first["clusters"] == [[(0, 0), (4, 4)]]
    assert second["clusters"] == [[(0, 1), (2, 2)]]
    assert windows(document, 3) == [document]
    kept, last = windows(document, 2, singletons=True)
    assert kept["clusters"] == [[(0, 0), (4, 4)], [(2, 2)]]
    assert last["clusters"] == [[(2, 2)], [(0, 0)], [(0, 1), (2, 2)]]


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


def test_endings_that_answers_mostly_leave_out_are_learned(file):
    words = ["서울에서", "부산에서", "여수는", "대구는", "나는", "1990년", "x"]
    answers = ["서울", "부산", "여수", "대구", "나는", "1990", "x"]
    examples = read_squad(file(questions(*zip(words, "?" * 7, answers))))
    assert answer_endings(examples) == ["는", "에서"]  # "년" once
    often = examples + 2 * [examples[4]]
    assert answer_endings(often) == ["에서"]


BROKEN = [
    ('{"data": [\n{"paragraphs" 3}]}', "should be a file of JSON. .*line 2 column 15"),
    ("7", "data is not as in SQuAD"),
    ('{"a": 1}\n{"b": 2}', r"data\[0\] is not as in SQuAD: 'context' is missing"),
    ('{"a": 1}\n{"b" 2}', ".*:2: JSON is expected"),
    ('{"data": []}', "data should hold questions"),
    ('{"data": [{"paragraphs": [7]}]}', r"data\[0\].paragraphs\[0\] is not as in SQ"),
]
BROKEN += [
    (squad(question(["Ann"]), broken), rf"qas\[1\] is not as in SQuAD: {reason}")
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


WORDS = "the", "한국어", "New York", "of"
VECTORS = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


def vector_text(words=WORDS, vectors=VECTORS):
    rows = zip(words, vectors.tolist())
    return "".join(f"{w} {' '.join(map(repr, row))}\n" for w, row in rows).encode()


def binary(between=b"\n", space="_"):
    rows = zip(WORDS, VECTORS)
    entries = [w.replace(" ", space).encode() + b" " + v.tobytes() for w, v in rows]
    return b"4 3\n" + between.join(entries)


@pytest.mark.parametrize(
    ("content", "spaces"),
    [
        (vector_text() + b"\n", True),
        (b"4 3\n" + vector_text(), True),
        (b"4 3\n" + vector_text().replace(b"\n", b" \n"), True),  # as fastText writes
        (binary(), False),
        (binary(between=b""), False),
        (b"\xef\xbb\xbf" + vector_text(), True),
        (gzip.compress(vector_text(), mtime=0), True),
    ],
    ids="glove word2vec fasttext binary unbroken mark glove.gz".split(),
)
def test_all_formats_hold_the_same(content, spaces, tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(content)
    words, vectors = read_word_vectors(path)
    # "New York" has a space in text only.
    expected = WORDS if spaces else [word.replace(" ", "_") for word in WORDS]
    assert list(words) == list(expected)
    np.testing.assert_array_equal(vectors, VECTORS)


def test_only_wanted_words_are_kept_and_the_first_of_repeated_ones(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes(vector_text(["of", "a", "of", "the"]))
    words, vectors = read_word_vectors(path, {"of", "the", "absent"})
    assert words == ("of", "the")
    np.testing.assert_array_equal(vectors, VECTORS[[0, 3]])
    path.write_bytes(binary())
    words, vectors = read_word_vectors(path, {"absent"})
    assert words == () and vectors.shape == (0, 3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "Line 1 should be a word and its numbers: b''"),
        (b"PK\x03\x04\x14\x00", "Line 1 should be a word"),
        (
            vector_text() + b"last 0.5\n",
            "Word 5 should have 3 numbers. Its line: b'last",
        ),
        (vector_text() + b"last 0.5 x 1\n", "Word 5, 'last', should have 3 finite"),
        (b"9 3\n" + vector_text(), "Line 1 says 9 words. The file ends after 4"),
        (binary()[:-5], "Line 1 says 4 words. The file ends within word 4"),
        (binary().replace(b" ", b"_"), "Line 1 should be a word|Word 1 has no end"),
        *(
            (binary(between=b"", space=space), r"No vector follows word 3, 'New")
            for space in (" ", " \u00e9 ", "- the ")
        ),
        (vector_text() + b"last nan 1 2\n", "Word 5, 'last', should have 3 finite"),
        (gzip.compress(vector_text(), mtime=0)[:-9], "Compressed file ended"),
    ],
)
def test_damaged_files_are_refused(content, message, tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(content)
    message = f"vectors should hold word vectors of GloVe or .*{message}"
    with pytest.raises(ValueError, match=message):
        read_word_vectors(path)


FORMS = [["US", "us", "US", "Us"], ["Bonn", "BONN", "BONN"], ["Él", "x"]]


@pytest.mark.parametrize(
    "words, lines",
    [
        # The form in lower case, whether the text has it or not.
        ("US us BONN bonn él", {"us": 1, "bonn": 3, "él": 4}),
        # Otherwise the form that is most frequent in the text.
        ("Us Bonn US BONN x", {"us": 2, "bonn": 3, "x": 4}),
        ("Bonn Us uS", {"us": 1, "bonn": 0}),
    ],
)
def test_a_word_has_the_vector_of_one_of_its_forms(file, words, lines):
    text = "".join(f"{word} {i} {-i}\n" for i, word in enumerate(words.split()))
    found = read_lower_case_vectors(file(text), FORMS)
    np.testing.assert_array_equal(found.vectors[:, 1], -found.vectors[:, 0])
    assert dict(zip(found.words, found.vectors[:, 0], strict=True)) == lines
