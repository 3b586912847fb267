"""Tagged sentences that readers read, and that they refuse."""

import functools

import pytest

from elmo_keras.heads import read_columns, read_conllu, read_roles
from elmo_keras.heads.tagger.readers import (
    predicates_of_roles,
    read_role_rows,
    read_tag_rows,
)
from elmo_keras.heads.tagger.task import PredicateTagging
from tests.support.readers import (
    CONLLU,
    check_reading,
    check_refusal,
    check_row_refusal,
    values_of,
)

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
# Token numbers are left out with the multiword token and the empty node.
PLUS = """# global.columns = ID FORM UPOS GOLD:NER
1|A|PROPN|B-A
2-3|bc|_|_
2|b|VERB|_
3|c|PRON|_
3.1|d|_|_
""".replace("|", "\t")
WEBANNO = """#FORMAT=WebAnno TSV 3.3
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS/PosValue
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity/identifier/value


#Text=Ann Lee left Bonn
1-1|0-3|Ann|PROPN|*[1]|PER[1]|
1-2|4-7|Lee|PROPN|*[1]|PER[1]/ORG[2]|
1-3|8-12|left|VERB|_|_|
1-3.1|8-10|le|_|_|OTH|
1-4|13-17|Bonn|PROPN|*|LOC|
""".replace("|", "\t").replace("/", "|")
CONLL_2009 = "\n".join(
    "\t".join([str(i), form, "1", "1", *"____", "2", "2", "_", "_", *cells])
    for i, (form, *cells) in enumerate(
        [("Ann", "_", "_", "A0"), ("is", "Y", "be.01", "_"), ("1", "_", "_", "A1")], 1
    )
)
PROPBANK = """# global.columns = ID FORM UP:PRED UP:ARGHEADS UP:ARGSPANS
1|A|_|_|_
2|b|_|_|_
3|ran|run.01|A0:2|A0:1-2
""".replace("|", "\t")


def tagged(*sentences):
    """The tokens and tags of sentences written as `word/TAG`."""
    rows = [[pair.rsplit("/", 1) for pair in text.split()] for text in sentences]
    return [tuple(map(list, zip(*row))) for row in rows]


PEOPLE = tagged("EU/B-ORG rejects/O Peter/B-PER Blackburn/I-PER Anna/B-PER")
ODD = "a\u2028b\x85c\x0bd"  # one word
CAT = ["The", "cat", "sat", "and", "ate"]
# Reader, file, and the values of the examples' fields.
READ = [
    (read_conllu, CONLLU, tagged("vamos/VERB nos/PRON mar/NOUN", "Sí/INTJ")),
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
    # Columns index, word, outer tag and sometimes an inner tag, with comments.
    (
        read_columns,
        "# at [1] O\n1\tA\tB-LOCderiv\tO\n2\tb\tO\n\n#\tat\n1\tC\tO\tO\n",
        tagged("A/B-LOCderiv b/O", "C/O"),
    ),
    (read_columns, "a B-A\nb M-A\nc E-A\nd S-A\n", tagged("a/B-A b/I-A c/I-A d/B-A")),
    # Ids before the words: from 0, running, of sentences, in two columns; a tag after a chunk.
    (read_columns, "0 A B-A\n1 b O\n\n0 C O\n", tagged("A/B-A b/O", "C/O")),
    (read_columns, "1 A B-A\n2 b O\n\n3 C O\n", tagged("A/B-A b/O", "C/O")),
    (read_columns, "s7 A B-A\ns7 b O\n\n8.b C O\n", tagged("A/B-A b/O", "C/O")),
    (read_columns, "s1 0 A B-A\ns1 1 b O x\n", tagged("A/B-A b/O")),
    (read_columns, "1 A NNP I-NP I-A\n2 b VBD I-VP O\n", tagged("A/B-A b/O")),
    (read_columns, PLUS, tagged("A/B-A b/O c/O")),
    (read_columns, "1\tA\tPS_B\n2\tb\tPS_I\n3\tc\t-\n", tagged("A/B-PS b/I-PS c/O")),
    (read_columns, WEBANNO, tagged("Ann/B-PER Lee/I-PER left/O Bonn/B-LOC")),
    # Types alone in MISC.
    (
        read_columns,
        CONLLU.replace("root\t_\t_", "root\t_\tname=PER"),
        tagged("vamos/B-PER nos/O mar/O", "Sí/B-PER"),
    ),
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
    (
        read_roles,
        CONLL_2009,
        [(["Ann", "is", "1"], [0, 1, 0], ["B-A0", "B-V", "B-A1"])],
    ),
    (read_roles, PROPBANK, [(["A", "b", "ran"], [0, 0, 1], ["B-A0", "I-A0", "B-V"])]),
    (PredicateTagging().read, ROLES, tagged("The/O cat/O sat/B-V and/O ate/B-V")),
]
MALFORMED = [
    (read_conllu, CONLLU.replace("nos\tnosotros", "nos"), 4, "10 columns"),
    (read_conllu, CONLLU.replace("3\tmar", "x\tmar"), 6, "number, not 'x'"),
    (read_conllu, CONLLU.replace("INTJ", "_"), 10, "part of speech is missing"),
    (read_columns, CONLL.replace(" VBZ I-VP O", ""), 4, "a word and its tag"),
    (read_columns, CONLL.replace("I-ORG", "ORG"), 3, "not 'ORG'"),
    (read_roles, ROLES.replace(" eat O B-V", " eat O"), 5, "4 columns"),
    (read_roles, ROLES.replace("B-A0", "A0"), 1, "not 'A0'"),
    (read_roles, BRACKETS.replace("(A0*", "*"), 2, "ends a role that did not begin"),
    (read_roles, BRACKETS.replace("(V*)", "(V*"), 4, r"\(V\* does not"),
    (read_roles, BRACKETS.replace(" *\n", " (A1*\n"), 4, r"\(A1\* does not end"),
    (read_columns, "a O\nb B-\n", 2, "not 'B-'"),
    (read_columns, "a O\nb B-a,B-b\n", 2, "not 'B-a,B-b'"),
    (read_columns, CONLL.replace("B-PER", "PER"), 7, "not 'PER'. `--columns` names"),
    (
        *(
            read_columns,
            CONLLU.replace("SpaceAfter=No", "name=PER").replace(
                "obj\t_\t_", "obj\t_\tNE=B-X"
            ),
            6,
        ),
        "not 'PER'",
    ),
    (
        read_columns,
        WEBANNO.replace("\t*\tLOC\t", ""),
        11,
        "6 columns separated by tabs",
    ),
    (read_columns, WEBANNO.replace("LOC", "L C"), 11, "not 'B-L C'"),
    (read_roles, PROPBANK.replace("1-2", "1-9"), 4, "A0:FIRST-LAST is expected"),
    (read_roles, PROPBANK.replace("1-2", "x"), 4, "invalid literal for int"),
    (read_columns, "a O\nb PER-B\n", 2, "not 'PER-B'"),
    (read_columns, "a O\nb S\n", 2, "not 'S'"),
    (read_columns, "a O\nb PER\nc I\n", 2, "not 'PER'"),
    # A word that holds a space, and a column more than the lines around it.
    (read_columns, 5 * "a _ _ O\n" + "Last Name _ _ I-PER\n", 6, "4 columns .* not 5"),
    (read_columns, CONLL.replace("B-PER", "B-PER x"), 7, "4 columns .* not 5"),
]


@pytest.mark.parametrize("row", READ)
def test_a_file_becomes_examples(row, file):
    check_reading(*row, file)


@pytest.mark.parametrize("row", MALFORMED)
def test_a_malformed_line_is_reported_with_its_place(row, file):
    check_refusal(*row, file)


def test_files_without_a_sentence_or_without_entities_are_refused(file):
    with pytest.raises(ValueError, match="holds no example"):
        read_columns(file("\n\n"))
    with pytest.raises(ValueError, match="has no entities: .* such as `name=B-PER`"):
        read_columns(file(CONLLU))


SAT = {"tokens": ["cat", "sat"], "tags": ["B-A0", "B-V"], "predicate": 1}
# Reader, a row in memory, and the values of its example.
ROWS = [
    *(
        (read_tag_rows, {"tokens": ["a", "b"], name: ["X", "Y"], "id": 7}, tags)
        for tags in tagged("a/X b/Y")
        for name in ("tags", "upos", "pos_tags")
    ),
    (read_role_rows, SAT, (["cat", "sat"], [0, 1], ["B-A0", "B-V"])),
    (
        read_role_rows,
        SAT | {"tags": ["S-V", "I-A1"], "predicate": [1, 0]},
        (["cat", "sat"], [1, 0], ["B-V", "B-A1"]),
    ),
]
WRONG_ROWS = [
    (read_tag_rows, {"tokens": "cat sat"}, "`tokens` should be a list .* 'cat sat'"),
    (read_tag_rows, {"tokens": ["cat", ""]}, "`tokens` should be a list of str"),
    (read_tag_rows, {"tags": [1, 2]}, r"`tags` should be a list of str, not \[1, 2\]"),
    (read_tag_rows, {"tags": ["X"]}, "as many tags as tokens"),
    (read_role_rows, {"tags": ["A0", "B-V"]}, "not 'A0'"),
    *(
        (read_role_rows, {"predicate": wrong}, "`predicate` should be the position")
        for wrong in (None, 2, -1, True, "sat", [0, 0], [1, 1])
    ),
]


@pytest.mark.parametrize("read, row, values", ROWS)
def test_a_row_in_memory_becomes_an_example(read, row, values):
    assert values_of(read([("row 0", row)], "data")) == [values]


@pytest.mark.parametrize("read, bad, reason", WRONG_ROWS)
def test_a_wrong_row_in_memory_is_refused_by_its_name(read, bad, reason):
    check_row_refusal(read, SAT, bad, reason)


def test_predicates_of_the_same_sentence_are_tagged_together():
    rows = [("row 0", SAT), ("row 1", SAT | {"predicate": 0})]
    roles = read_role_rows(rows, "data")
    assert values_of(predicates_of_roles(roles)) == tagged("cat/B-V sat/B-V")
