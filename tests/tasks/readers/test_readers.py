"""Readers of examples: what they make of files, and the lines they refuse."""

import functools
import gzip
import json
import re

import pytest

from elmo_keras.tasks.answer.squad import read_squad
from elmo_keras.tasks.documents import read_conll_2012
from elmo_keras.tasks.readers.labelled_texts import (
    read_fasttext,
    read_goemotions,
    read_kornli,
    read_label_names,
    read_nsmc,
    read_snli,
    read_tabs,
    read_trees,
)
from elmo_keras.tasks.readers.labelled_texts import read_klue_nli as read_nli
from elmo_keras.tasks.tag.tagged_text import (
    read_conll,
    read_conllu,
    read_klue,
    read_roles,
)
from elmo_keras.text.tokenizers import split_words

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
KLUE = """## line : a character and its tag
## id-1|<경찰:OG>은 딸(<32:QT>)
경|B-OG
찰|I-OG
은|O
 |O
딸|O
(|O
3|B-QT
2|I-QT
)|O

## id-2|<김 씨:PS>와
김|B-PS
 |I-PS
씨|I-PS
와|O
""".replace("|", "\t")
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
TABLE = "document\tlabel\n"
KORNLI = "sentence1\tsentence2\tgold_label\n"
SNLI = '{"sentence1": "a", "sentence2": "b", "gold_label": "x"}\n'
PAIR = '{\n"premise": "a",\n"hypothesis": "b",\n"gold_label": "x"\n}'
goemotions = functools.partial(read_goemotions, names=["joy", "anger", "neutral"])
raw_fasttext = functools.partial(read_fasttext, split=split_words)
swapped_table = functools.partial(read_nsmc, split=str.split)
PEOPLE = (
    ["EU", "rejects", "Peter", "Blackburn", "Anna"],
    ["B-ORG", "O", "B-PER", "I-PER", "B-PER"],
)
CAT = ["The", "cat", "sat", "and", "ate"]
# Reader, file, and the values of the examples' fields.
READ = [
    (
        read_fasttext,
        "__label__4\tIt 's  lovely .\r\n__label__1 Bad\n__label__2\n",
        [(["It", "'s", "lovely", "."], "4"), (["Bad"], "1"), ([], "2")],
    ),
    (raw_fasttext, "__label__x It's", [(["It", "'s"], "x")]),
    (
        read_trees,
        "(3 (2 A) (4 (4 fine) (2 film\\/book)))\n(0 \\*Bad)\n(1 (2 -LRB-) (1 x))\n",
        [(["A", "fine", "film/book"], "3"), (["*Bad"], "0"), (["(", "x"], "1")],
    ),
    # Words may hold white space other than the space.
    (
        read_trees,
        "(3 (2 A\xa0) (4 (4 2\xa01/2) (2 \u3000)))\n",
        [(["A\xa0", "2\xa01/2", "\u3000"], "3")],
    ),
    (
        read_fasttext,
        "__label__4 2\xa01/2 \u2028 x\x85\n__label__5\n",
        [(["2\xa01/2", "\u2028", "x\x85"], "4"), ([], "5")],
    ),
    (
        read_nsmc,
        'id\tdocument\tlabel\n7\t되게 "좋소~\t1\n8\t\t0\n',
        [(["되게", '"', "좋소", "~"], "1"), ([], "0")],
    ),
    (swapped_table, "label\tdocument\n1\ta b\n", [(["a", "b"], "1")]),
    (
        goemotions,
        "Oh no!\t2,0\tid1\nYes\t1\tid2\n",
        [(["Oh", "no", "!"], ["neutral", "joy"]), (["Yes"], ["anger"])],
    ),
    (read_tabs, "a b\tc\t1\n", [(["a", "b"], ["c"], "1")]),
    (
        read_tabs,
        "2\xa01/2 b\tc\u2028d\t1\n",
        [(["2\xa01/2", "b"], ["c\u2028d"], "1")],
    ),
    (read_kornli, f"{KORNLI}a b\tc\t1\n", [(["a", "b"], ["c"], "1")]),
    (read_kornli, KORNLI, []),
    # Pairs without an agreed label are left out.
    (
        read_snli,
        SNLI.replace('"a"', '"It isn\'t."') + SNLI.replace("x", "-"),
        [(["It", "is", "n't", "."], ["b"], "x")],
    ),
    (
        read_nli,
        json.dumps([json.loads(PAIR) | {"premise": "가. [나]", "more": {}}] * 2),
        [(["가", ".", "[", "나", "]"], ["b"], "x")] * 2,
    ),
    (read_nli, f"[{PAIR},\n{PAIR}]", [(["a"], ["b"], "x")] * 2),
    (read_nli, "\n[ ]\n", []),
    (
        read_conllu,
        CONLLU,
        [(["vamos", "nos", "mar"], ["VERB", "PRON", "NOUN"]), (["Sí"], ["INTJ"])],
    ),
    (read_conll, CONLL, [PEOPLE]),
    (read_conll, IN_TABS, [PEOPLE]),
    # Spaces after a tag, a line without a word, and a word that begins with "#".
    (read_conll, "#a\tB-A \n\tI-A\nb\tI-A\t\n", [(["#a", "b"], ["B-A", "I-A"])]),
    # Columns index, word, outer tag and inner tag, with comments.
    (
        read_conll,
        "# at [1] O\n1\tA\tB-LOCderiv\tO\n2\tb\tO\tB-PER\n\n#\tat\n1\tC\tO\tO\n",
        [(["A", "b"], ["B-LOCderiv", "O"]), (["C"], ["O"])],
    ),
    (
        read_conll,
        "a B-A\nb M-A\nc E-A\nd S-A\n",
        [(["a", "b", "c", "d"], ["B-A", "I-A", "I-A", "B-A"])],
    ),
    # Types alone.
    (
        read_conll,
        "a\tPER\nb\tPER\nc\tLOC\nd\tO\n",
        [(["a", "b", "c", "d"], ["B-PER", "I-PER", "B-LOC", "O"])],
    ),
    (
        functools.partial(read_conll, columns=(2, 1)),
        "B-A a x\nO b x\n",
        [(["a", "b"], ["B-A", "O"])],
    ),
    (
        read_conll,
        "a\u2028b\x85c\x0bd O\r\n\xa0 O\n",
        [(["a\u2028b\x85c\x0bd", "\xa0"], ["O", "O"])],
    ),
    # Eojeols with punctuation split off.
    (
        read_klue,
        KLUE,
        [
            (["경찰은", "딸", "(", "32", ")"], ["B-OG", "O", "O", "B-QT", "O"]),
            (["김", "씨와"], ["B-PS", "I-PS"]),
        ],
    ),
    (
        read_roles,
        BRACKETS,
        [(["a", "b", "c", "d"], [0, 0, 1, 0], ["B-A0", "I-A0", "B-V", "O"])],
    ),
    (read_roles, CONLL_2012, [(["a", "b"], [0, 1], ["B-A0", "B-V"])]),
    (
        read_roles,
        ROLES,
        [
            (CAT, [0, 0, 1, 0, 0], ["B-A0", "I-A0", "B-V", "O", "O"]),
            (CAT, [0, 0, 0, 0, 1], ["O", "O", "O", "O", "B-V"]),
        ],
    ),
]


@pytest.mark.parametrize("read, text, values", READ)
def test_a_file_becomes_examples(read, text, values, file):
    # Spaces at the end of a file and a byte order mark are no part of it.
    path = file(f"\ufeff{text}\n\t\r\n")
    examples = read(path)
    assert [tuple(example.values()) for example in examples] == values
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert read(path) == examples


def test_pairs_without_any_agreed_label_are_refused(file):
    with pytest.raises(ValueError, match="pairs with a label other than `-`"):
        read_snli(file(SNLI.replace("x", "-")))


def test_a_file_without_a_sentence_is_refused(file):
    with pytest.raises(ValueError, match="holds no sentence"):
        read_conll(file("\n\n"))


BEGIN, END = "#begin document (d/one); part 002\n", "\n#end document\n"


def line(word, coreference="-", speaker="Ann", more=""):
    return f"d 0 0 {word} NN (S*) - - - {speaker} * {more}{coreference}\n"


def tabs(word, coreference="", more=""):
    """A line of LitBank's columns."""
    return f"d_brat\t0\t0\t{word}" + 8 * "\t_" + f"{more}\t{coreference}\n"


MALFORMED = [
    (read_fasttext, "__label__1 a\nno label\n", 2, "not 'no label'"),
    (read_fasttext, "__label__1 a\n\n__label__1 b\n", 2, "not ''"),
    (read_fasttext, "__label__ a\n", 1, "one __label__… and a text"),
    (read_fasttext, "__label__1 __label__2 a\n", 1, "one __label__… and a text"),
    (read_trees, "(1 a)\n(1 (2 a)\n", 2, "a tree such as"),
    (read_trees, "(1 a) (2 b)\n", 1, "a tree such as"),
    (read_trees, "(1 a))\n", 1, "a tree such as"),
    (read_trees, "\n(1 a)\n", 1, "a tree such as"),
    (read_nsmc, "", 1, "Missing: document, label"),
    (read_nsmc, "id\tdocument\n", 1, "Missing: label"),
    (read_nsmc, f"{TABLE}a\t1\nb\n", 3, "2 fields separated by tabs .*, not 1"),
    (read_nsmc, f"{TABLE}a\t1\t2\n", 2, "2 fields .*, not 3"),
    (read_nsmc, f"{TABLE}a\t \n", 2, "the label is missing"),
    (goemotions, "a\t1\n", 1, "3 fields .*, not 2"),
    (goemotions, "a\t1,3\tid\n", 1, r"labels from 0 to 2 .*, not \['1', '3'\]"),
    (goemotions, "a\t1\tid\na\t\tid\n", 2, "labels from 0 to 2"),
    (goemotions, "a\t-1\tid\n", 1, "labels from 0 to 2"),
    (read_label_names, "a\n\nb\n", 2, "a new label"),
    (read_label_names, "a\nb\na\n", 3, "a new label"),
    (read_tabs, "a\tb\t1\na\tb\n", 2, "3 fields .*, not 2"),
    (read_tabs, "a\tb\t\n", 1, "the label is missing"),
    (read_kornli, f"{KORNLI}a\tb\tc\td\n", 2, "3 fields .*, not 4"),
    (read_snli, SNLI + '{"sentence1": "a"\n', 2, "JSON is expected"),
    (read_snli, SNLI + "[]\n", 2, r"an object with strings .*, not \[\]"),
    (read_snli, SNLI + '{"sentence1": "a"}\n', 2, "an object with strings"),
    (read_snli, SNLI.replace('"b"', "1"), 1, "an object with strings"),
    (read_nli, f"[\n{PAIR},\n{PAIR}\n", 12, "JSON is expected"),
    (read_nli, PAIR, 1, "a list of objects"),
    (read_nli, f"[\n{PAIR},\n{PAIR.replace('a', 'b')}\n]", "[1]", "object with str"),
    (read_nli, f"[\n{PAIR},\n{PAIR.replace('x', '')}\n]", "[1]", "label is missing"),
    (read_conllu, CONLLU.replace("nos\tnosotros", "nos"), 4, "10 columns"),
    (read_conllu, CONLLU.replace("3\tmar", "x\tmar"), 6, "number, not 'x'"),
    (read_conllu, CONLLU.replace("INTJ", "_"), 10, "part of speech is missing"),
    (read_conll, CONLL.replace(" VBZ I-VP O", ""), 4, "a word and its tag"),
    (read_conll, CONLL.replace("I-ORG", "ORG"), 3, "not 'ORG'"),
    (read_klue, KLUE.replace("\n찰", "\n찰은"), 4, "a character, a tab"),
    (read_klue, KLUE.replace("I-OG", ""), 4, "not ''"),
    (read_roles, ROLES.replace(" eat O B-V", " eat O"), 5, "4 columns"),
    (read_roles, ROLES.replace("B-A0", "A0"), 1, "not 'A0'"),
    (read_roles, BRACKETS.replace("(A0*", "*"), 2, "ends a role that did not begin"),
    (read_roles, BRACKETS.replace("(V*)", "(V*"), 4, r"\(V\* does not"),
    (read_roles, BRACKETS.replace(" *\n", " (A1*\n"), 4, r"\(A1\* does not end"),
    (read_conll, "a O\nb B-\n", 2, "not 'B-'"),
    (read_conll, "a O\nb B-A1(R-A2\n", 2, "not 'B-A1"),
    (read_conll, "a O\nb B-a,B-b\n", 2, "not 'B-a,B-b'"),
    (read_conll, "a O\nb PER-B\n", 2, "not 'PER-B'"),
]
MALFORMED += [
    (read_conll_2012, *row)
    for row in [
        (BEGIN + line("a", "(1") + "\n" + line("b") + END, 3, r"\(1 does not end with"),
        (BEGIN + line("a", "1)") + END, 2, r"1\) ends a mention that did not begin"),
        (BEGIN + line("a", "(x)") + END, 2, r"the last column should be .* '\(x\)'"),
        (BEGIN + line("a", "1") + END, 2, "the last column should be .* '1'"),
        (BEGIN + line("a", "(1)|") + END, 2, "the last column should be .* ''"),
        (BEGIN + "a b c\n" + END, 2, "a line should have 12 columns. Received: 3"),
        (BEGIN + line("a") + line("b", more="* ") + END, 3, "line should .* 12 .* 13"),
        (BEGIN + tabs("") + END, 2, "the 4th column should hold a word. Received: ''"),
        (BEGIN + tabs("a") + tabs("b", more="\t_") + END, 3, "should have 13 .* 14"),
        (BEGIN + line("a"), 2, "the file ends without `#end document`"),
        (BEGIN + END, 3, "the document has no tokens"),
        (BEGIN + line("a") + BEGIN + END, 3, ".* is expected"),
        ("#begin document d\n", 1, "`#begin document .* is expected"),
        (line("a"), 1, "a line outside of"),
        (END, 2, "a line outside of"),
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
        (read_squad, b'{"data":\n["\xff"]}', ":2: should be UTF-8"),
        (
            read_squad,
            gzip.compress(b"{}", mtime=0)[:-9],
            " should be a complete gzip file",
        ),
        (read_conll_2012, BEGIN.encode() + b"\xff\n", " should be UTF-8. Line 2"),
        (read_conll, b"word O\nw\xff O\n", " should be UTF-8. Line 2"),
    ],
)
def test_a_file_that_is_not_utf_8_or_incomplete_is_refused(
    read, content, place, tmp_path
):
    path = tmp_path / "bad"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"bad{place}"):
        read(path)


def test_brackets_become_mentions_of_the_whole_document(file):
    text = line("Ann", "(3") + line("Lee", "3)|(12") + line("/.", "12)") + "\n"
    for word, brackets in (("She", "(3)"), ("it", "(7|(12)"), ("her", "7)")):
        text += line(word, brackets, "Bob", "* * ")
    (document,) = read_conll_2012(file(BEGIN + text + END))
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
    documents = read_conll_2012(file(2 * ("\n" + BEGIN + text + END)))
    assert [document["sentences"] for document in documents] == [sentences] * 2
    assert [document["clusters"] for document in documents] == [clusters] * 2
