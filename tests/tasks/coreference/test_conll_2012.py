"""Documents in the columns of CoNLL-2012."""

import pytest

from elmo_keras.tasks.coreference.documents import read_conll_2012


def line(word, coreference="-", speaker="Ann", more=""):
    return f"d 0 0 {word} NN (S*) - - - {speaker} * {more}{coreference}\n"


BEGIN, END = "#begin document (d/one); part 002\n", "\n#end document\n"
NESTED = (
    line("Ann", "(3")
    + line("Lee", "3)|(12")
    + line("/.", "12)")
    + "\n"
    + line("She", "(3)", "Bob", "* * ")
    + line("it", "(7|(12)", "Bob", "* * ")
    + line("her", "7)", "Bob", "* * ")
)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_brackets_become_mentions_of_the_whole_document(tmp_path):
    path = write(tmp_path / "d.conll", BEGIN + NESTED + END)
    (document,) = read_conll_2012(path)
    assert document["name"] == "d/one" and document["part"] == 2
    assert document["sentences"] == [["Ann", "Lee", "."], ["She", "it", "her"]]
    assert document["speakers"] == [["Ann"] * 3, ["Bob"] * 3]
    assert document["clusters"] == [[(0, 1), (3, 3)], [(1, 2), (4, 4)], [(4, 5)]]


def test_mentions_of_one_entity_may_be_nested(tmp_path):
    text = line("a", "(1") + line("b", "(1") + line("c", "1)|1)") + line("d", "(1)|(1)")
    (document,) = read_conll_2012(write(tmp_path / "d", BEGIN + text + END))
    assert document["clusters"] == [[(0, 2), (1, 2), (3, 3)]]


def test_each_part_is_a_document(tmp_path):
    text = 2 * ("\n" + BEGIN + line("한") + END)
    documents = read_conll_2012(write(tmp_path / "d", text))
    assert [d["sentences"] for d in documents] == [[["한"]]] * 2
    assert documents[0]["clusters"] == []


def tabs(word, coreference="", more=""):
    """A line of LitBank's columns."""
    return f"d_brat\t0\t0\t{word}" + 8 * "\t_" + f"{more}\t{coreference}\n"


def test_between_tabs_a_word_may_hold_white_space_and_the_last_column_be_empty(
    tmp_path,
):
    text = tabs("No.\xa07", "(3") + tabs("New York", "3)|(1)") + tabs("\u2028 ")
    text = BEGIN + text + tabs("she", "(3)") + END
    (document,) = read_conll_2012(write(tmp_path / "d.conll", text))
    assert document["sentences"] == [["No.\xa07", "New York", "\u2028", "she"]]
    assert document["clusters"] == [[(0, 1), (3, 3)], [(1, 1)]]


def test_between_spaces_a_word_may_hold_other_white_space(tmp_path):
    text = BEGIN + line("2\xa01/2") + line("\u3000") + "\t \n" + line("x") + END
    (document,) = read_conll_2012(write(tmp_path / "d.conll", text))
    assert document["sentences"] == [["2\xa01/2", "\u3000"], ["x"]]


BROKEN = {
    BEGIN + line("a", "(1") + "\n" + line("b") + END: r"3: \(1 does not end within",
    BEGIN + line("a", "1)") + END: r"2: 1\) ends a mention that did not begin",
    BEGIN + line("a", "(x)") + END: r"2: the last column should be .* '\(x\)'",
    BEGIN + line("a", "1") + END: "2: the last column should be .* '1'",
    BEGIN + line("a", "(1)|") + END: "2: the last column should be .* ''",
    BEGIN + "a b c\n" + END: "2: a line should have 12 columns. Received: 3",
    BEGIN + line("a") + line("b", more="* ") + END: "3: a line should have 12 .* 13",
    BEGIN + tabs("") + END: "2: the 4th column should hold a word. Received: ''",
    BEGIN + tabs("a") + tabs("b", more="\t_") + END: "3: a line should have 13 .* 14",
    BEGIN + line("a"): "2: the file ends without `#end document`",
    BEGIN + END: "3: the document has no tokens",
    BEGIN + line("a") + BEGIN + END: "3: .* is expected",
    "#begin document d\n": "1: `#begin document .* is expected",
    line("a"): "1: a line outside of",
    END: "2: a line outside of",
    "": "0: the file ends without `#begin document",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_malformed_file_is_refused_with_line_and_reason(text, tmp_path):
    path = write(tmp_path / "bad.conll", text)
    with pytest.raises(ValueError, match=f"bad.conll:{BROKEN[text]}") as error:
        read_conll_2012(path)
    assert "\n" not in str(error.value)
