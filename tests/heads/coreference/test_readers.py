"""Documents with coreference that readers read, and that they refuse."""

import pytest

from elmo_keras.heads import read_documents
from elmo_keras.heads.coreference.readers import (
    read_corefud,
    read_document_rows,
    windows,
)
from tests.support.readers import check_refusal, check_row_refusal

BEGIN, END = "#begin document (d/one); part 002\n", "\n#end document\n"


def line(word, coreference="-", speaker="Ann", more=""):
    return f"d 0 0 {word} NN (S*) - - - {speaker} * {more}{coreference}\n"


def tabs(word, coreference="", more=""):
    """A line of LitBank's columns."""
    return f"d_brat\t0\t0\t{word}" + 8 * "\t_" + f"{more}\t{coreference}\n"


MALFORMED = [
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


@pytest.mark.parametrize("row", MALFORMED)
def test_a_malformed_line_is_reported_with_its_place(row, file):
    check_refusal(read_documents, *row, file)


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
    part, last = windows(document, 2, singletons=True)
    assert part["clusters"] == [[(0, 0), (4, 4)], [(2, 2)]]
    assert last["clusters"] == [[(2, 2)], [(0, 0)], [(0, 1), (2, 2)]]


ROW = {"sentences": [["Ann", "sat"], ["She"]], "clusters": [[], [[2, 2], [0, 0]]]}
WRONG_ROWS = [
    *(
        ({"sentences": wrong}, "`sentences` should be ")
        for wrong in (None, ["Ann sat"], [["Ann"], []], [["Ann", ""]], [[1]])
    ),
    ({"sentences": []}, "the document has no tokens"),
    ({"speakers": [["a", "b"]]}, "`speakers` should hold one for each token"),
    *(({name: 5}, "'int' object is not iter") for name in ("speakers", "clusters")),
    *(
        ({"clusters": [[[0, 0], wrong]]}, "`clusters` .* of 3 tokens, not ")
        for wrong in ([1, 3], [1, 0], [-1, 0], [0], ["0", "1"], None)
    ),
]


def test_rows_in_memory_become_the_documents_of_a_file(file):
    text = line("Ann", "(3)|(1)") + line("sat") + "\n" + line("She", "(3)")
    documents = read_documents(file(BEGIN + text + END))
    documents[0]["part"] = 0
    assert read_document_rows([("row 0", documents[0])], "data") == documents
    (document,) = read_document_rows([("row 0", ROW)], "data")
    assert document == {
        "name": "data",
        "part": 0,
        "sentences": ROW["sentences"],
        "speakers": [["", ""], [""]],
        "clusters": [[(0, 0), (2, 2)]],
    }


@pytest.mark.parametrize("bad, reason", WRONG_ROWS)
def test_a_wrong_row_in_memory_is_refused_by_its_name(bad, reason):
    check_row_refusal(read_document_rows, ROW, bad, reason)


def corefud(*rows):
    """Lines of CoNLL-U with these numbers, words and entities."""
    rows = [(i, word, *7 * "_", entity) for i, word, entity in rows]
    return "".join("\t".join(row) + "\n" for row in rows)


COREFUD = "# newdoc id = d\n# global.Entity = etype-eid-other\n# speaker = Ann\n"
COREFUD += corefud(
    ("1", "A", "Entity=(person-e1-x(place-e2)"),
    ("2-3", "bc", "_"),
    ("2", "b", "SpaceAfter=No|Entity=e1)(person-e3[1/2]-y)"),
    ("2.1", "_", "Entity=(person-e4)"),
    ("3", "c", "Entity=(person-e3[2/2]-y"),
    ("4", "d", "Entity=e3[2/2])"),
)
COREFUD += "\n# speaker = Bob\n" + corefud(("1", "e", "Entity=(person-e1)")) + "\n"


def test_documents_of_corefud_are_read(file):
    path = file(COREFUD + "# newdoc id = e\n" + corefud(("1", "f", "_")))
    first, second = read_corefud(path)
    assert first["name"] == "d" and first["sentences"] == [["A", "b", "c", "d"], ["e"]]
    assert first["speakers"] == [["Ann"] * 4, ["Bob"]]
    assert first["clusters"] == [[(0, 0)], [(0, 1), (4, 4)], [(1, 3)]]
    assert second["sentences"] == [["f"]] and second["clusters"] == []


@pytest.mark.parametrize(
    "row",
    [
        (
            COREFUD.replace("e3[2/2])", "e9)"),
            9,
            r"e9\) ends a mention that did not beg",
        ),
        (COREFUD.replace("\td\t", "\td\t_\t"), 9, "10 columns separated by tabs"),
        ("a b\n", 1, "10 columns separated by tabs"),
    ],
)
def test_a_malformed_line_of_corefud_is_reported_with_its_place(row, file):
    check_refusal(read_corefud, *row, file)
