"""Malformed files are refused with their line, by the readers of all tasks."""

import re

import pytest

from elmo_keras.tasks.answer.squad import read_squad
from elmo_keras.tasks.classify.labelled_texts import (
    read_fasttext,
    read_goemotions,
    read_label_names,
    read_table,
    read_trees,
)
from elmo_keras.tasks.coreference.documents import read_conll_2012
from elmo_keras.tasks.entail.entailment_pairs import read_klue as read_nli
from elmo_keras.tasks.entail.entailment_pairs import read_kornli, read_snli, read_tabs
from elmo_keras.tasks.similarity.__main__ import read_korsts
from elmo_keras.tasks.tag.tagged_text import (
    read_conll,
    read_conllu,
    read_klue,
    read_roles,
)
from tests.tasks.tag.test_tagged_text import CONLL, CONLLU, KLUE, ROLES

BEGIN = b"#begin document (d/one); part 002\n"
TABLE = "document\tlabel\n"
KORNLI = "sentence1\tsentence2\tgold_label\n"
STS = "score\tsentence1\tsentence2\n"
SNLI = '{"sentence1": "a", "sentence2": "b", "gold_label": "x"}\n'
PAIR = '{\n"premise": "a",\n"hypothesis": "b",\n"gold_label": "x"\n}'


def goemotions(path):
    return read_goemotions(path, ["joy", "anger", "neutral"])


@pytest.mark.parametrize(
    "read, text, line, reason",
    [
        (read_fasttext, "__label__1 a\nno label\n", 2, "not 'no label'"),
        (read_fasttext, "__label__1 a\n\n", 2, "not ''"),
        (read_fasttext, "__label__ a\n", 1, "one __label__… and a text"),
        (read_fasttext, "__label__1 __label__2 a\n", 1, "one __label__… and a text"),
        (read_trees, "(1 a)\n(1 (2 a)\n", 2, "a tree such as"),
        (read_trees, "(1 a) (2 b)\n", 1, "a tree such as"),
        (read_trees, "(1 a))\n", 1, "a tree such as"),
        (read_trees, "\n", 1, "a tree such as"),
        (read_table, "", 1, "Missing: document, label"),
        (read_table, "id\tdocument\n", 1, "Missing: label"),
        (read_table, f"{TABLE}a\t1\nb\n", 3, "2 fields separated by tabs .*, not 1"),
        (read_table, f"{TABLE}a\t1\t2\n", 2, "2 fields .*, not 3"),
        (read_table, f"{TABLE}a\t \n", 2, "the label is missing"),
        (goemotions, "a\t1\n", 1, "3 fields .*, not 2"),
        (goemotions, "a\t1,3\tid\n", 1, r"labels from 0 to 2 .*, not \['1', '3'\]"),
        (goemotions, "a\t1\tid\na\t\tid\n", 2, "labels from 0 to 2"),
        (goemotions, "a\t-1\tid\n", 1, "labels from 0 to 2"),
        (read_label_names, "a\n\n", 2, "a new label"),
        (read_label_names, "a\nb\na\n", 3, "a new label"),
        (read_tabs, "a\tb\t1\na\tb\n", 2, "3 fields .*, not 2"),
        (read_tabs, "a\tb\t\n", 1, "the label is missing"),
        (read_kornli, f"{KORNLI}a\tb\tc\td\n", 2, "3 fields .*, not 4"),
        (read_snli, SNLI + '{"sentence1": "a"\n', 2, "JSON is expected"),
        (read_snli, SNLI + "[]\n", 2, r"an object with strings .*, not \[\]"),
        (read_snli, SNLI + '{"sentence1": "a"}\n', 2, "an object with strings"),
        (read_snli, SNLI.replace('"b"', "1"), 1, "an object with strings"),
        (read_nli, f"[\n{PAIR},\n{PAIR}\n", 11, "JSON is expected"),
        (read_nli, PAIR, 1, "a list of objects"),
        (read_nli, f"[\n{PAIR},\n{PAIR.replace('a', 'b')}\n]", 11, "object with str"),
        (read_nli, f"[\n{PAIR},\n{PAIR.replace('x', '')}\n]", 11, "label is missing"),
        (read_korsts, f"{STS}5.0\ta\tb\n5.1\ta\tb\n", 3, "from 0 to 5 .*, not '5.1'"),
        (read_korsts, f"{STS}high\ta\tb\n", 2, "not 'high'"),
        (read_korsts, f"{STS}nan\ta\tb\n", 2, "not 'nan'"),
        (read_korsts, f"{STS}1\ta\n", 2, "3 fields .*, not 2"),
        (read_conllu, CONLLU.replace("nos\tnosotros", "nos"), 4, "10 columns"),
        (read_conllu, CONLLU.replace("3\tmar", "x\tmar"), 6, "number, not 'x'"),
        (read_conllu, CONLLU.replace("INTJ", "_"), 10, "part of speech is missing"),
        (read_conll, CONLL.replace(" VBZ I-VP O", ""), 4, "a word and its tag"),
        (read_conll, CONLL.replace("I-ORG", "ORG"), 3, "not 'ORG'"),
        (read_klue, KLUE.replace("\n찰", "\n찰은"), 4, "a character, a tab"),
        (read_klue, KLUE.replace("I-OG", ""), 4, "not ''"),
        (read_roles, ROLES.replace(" eat O B-V", " eat O"), 5, "4 columns"),
        (read_roles, ROLES.replace("B-A0", "A0"), 1, "not 'A0'"),
    ],
)
def test_a_malformed_line_is_reported_with_its_place(file, read, text, line, reason):
    place = re.escape(f"{file(text)}:{line}: ")
    with pytest.raises(ValueError, match=f"^{place}.*{reason}") as error:
        read(file(text))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "read, content, place",
    [
        (read_squad, b'{"data":\n["\xff"]}', ":2: should be UTF-8"),
        (read_conll_2012, BEGIN + b"\xff\n", " should be UTF-8. Line 2"),
        (read_conll, b"word O\nw\xff O\n", " should be UTF-8. Line 2"),
    ],
)
def test_a_file_that_is_not_utf_8_is_refused_with_its_line(
    read, content, place, tmp_path
):
    path = tmp_path / "bad"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"bad{place}"):
        read(path)
