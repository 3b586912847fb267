"""Each published format becomes what the readers of the tasks take; errors name the line."""

import gzip
import re

import pytest

from elmo_keras.heads import Classification, Entailment, read_columns
from tools.convert import convert

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
SNLI = '{"sentence1": "It isn\'t.", "sentence2": "b", "gold_label": "x"}\n'
KORNLI = "sentence1\tsentence2\tgold_label\n"
NSMC = "id\tdocument\tlabel\n"


def eojeols(end=""):
    """Words and tags of `KLUE`, with punctuation split off."""
    tags = [f"B-OG{end}", "O", "O", "B-QT", "O"], [f"B-PS{end}", f"I-PS{end}"]
    return list(zip((["경찰은", "딸", "(", "32", ")"], ["김", "씨와"]), tags))


# Format, file, reader of what it becomes, and the values of the examples' fields.
CONVERTED = [
    (
        *(
            "fasttext",
            "__label__4\tIt 's  2\xa01/2\r\n__label__2\n",
            Classification().read,
        ),
        [(["It", "'s", "2\xa01/2"], "4"), ([], "2")],
    ),
    (
        *("nsmc", f'{NSMC}7\t되게 "좋소~\t1\n8\t\t0\n', Classification().read),
        [(["되게", '"', "좋소", "~"], "1"), ([], "0")],
    ),
    (
        *("goemotions", "Oh no!\t2,0\tid1\nYes\t1\tid2\n", Classification().read),
        [(["Oh", "no", "!"], ["neutral", "joy"]), (["Yes"], ["anger"])],
    ),
    (
        "tabs",
        "2\xa01/2 b\tc's\t1\n",
        Entailment().read,
        [(["2\xa01/2", "b"], ["c's"], "1")],
    ),
    ("snli", f"{KORNLI}a b\tc\t1\n", Entailment().read, [(["a", "b"], ["c"], "1")]),
    # Pairs without an agreed label are left out.
    (
        *("snli", SNLI + SNLI.replace("x", "-"), Entailment().read),
        [(["It", "is", "n't", "."], ["b"], "x")],
    ),
    ("klue-ner", KLUE, read_columns, eojeols()),
    ("klue-ner-ends", KLUE, read_columns, eojeols("/1")),
]
MALFORMED = [
    ("fasttext", "__label__1 a\nno label\n", ":2: one __label__.* not 'no label'"),
    ("nsmc", "id\tdocument\n1\ta\n", ":2: strings document, label are expected"),
    ("goemotions", "a\t1,3\tid\n", ":1: labels from 0 to 2 .*, not '1,3'"),
    ("tabs", "a\tb\t1\na\tb\n", ":2: 3 columns .*, not 2"),
    ("snli", SNLI + "[]\n", ":2: an object is expected"),
    ("snli", SNLI.replace("-", "x").replace('"b"', "1"), ":1: strings sentence1, sen"),
    ("snli", SNLI.replace('"x"', '"-"'), " holds no examples"),
    ("klue-ner", KLUE.replace("\n찰", "\n찰은"), ":4: a character, a tab"),
]


@pytest.fixture
def source(tmp_path):
    def write(text):
        (tmp_path / "labels.txt").write_text("joy\nanger\nneutral\n")
        path = tmp_path / "in"
        path.write_bytes(gzip.compress(text.encode()))
        return path

    return write


@pytest.mark.parametrize("name, text, read, values", CONVERTED)
def test_a_converted_file_is_read(name, text, read, values, source, tmp_path):
    convert(name, source(f"\ufeff{text}\n"), tmp_path / "out")
    assert [tuple(e.values()) for e in read(tmp_path / "out")] == values


@pytest.mark.parametrize("name, text, problem", MALFORMED)
def test_a_malformed_line_is_named(name, text, problem, source, tmp_path):
    path = source(text)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}{problem}"):
        convert(name, path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
